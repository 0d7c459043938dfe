// See step_graph.h.
#include "engine/step_graph.h"

#include <utility>

namespace annulus {

void StepGraphs::run(const StepShape& shape, std::size_t slot, std::size_t update,
                     StepStamps& stamps, const std::function<void()>& queue) {
  if (!enabled_ || seen_.insert(shape).second) return queue();
  const Key key{shape, slot};
  auto graph = graphs_.find(key);
  if (graph == graphs_.end()) graph = graphs_.emplace(key, capture(stamps, queue)).first;
  const auto& [exec, collectives, stamped_calls] = graph->second;
  stamps.set_calls(stamped_calls);
  if (communicator_)
    communicator_->launch(exec, compute_, collectives, update + 1);
  else
    exec.launch(compute_);
}

StepGraphs::Graph StepGraphs::capture(StepStamps& stamps, const std::function<void()>& queue) {
  Graph graph;
  Capture capture(compute_);
  if (communicator_)
    graph.collectives = communicator_->captured(queue);
  else
    queue();
  graph.exec = capture.finish();
  graph.stamped_calls = stamps.calls();
  return graph;
}

}  // namespace annulus
