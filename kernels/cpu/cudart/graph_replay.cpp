// A launch of a graph: its nodes, in the order of their capture, on the graph's own lanes. A node
// waits for the nodes it follows and is checked like any call; a lane's first one waits for the
// launch.
#include <functional>
#include <utility>

#include "kernels/cpu/cudart/graph.h"
#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"

namespace annulus::cpu {
namespace {

// What of a node later ones wait for.
struct Reached {
  Ticket ticket;
  VectorClock clock;
};

class Replay {
 public:
  Replay(Runtime& runtime, Lock& lock, const CUgraphExec_st& exec,
         const std::shared_ptr<Stream>& stream)
      : runtime_(runtime), lock_(lock), exec_(exec), stream_(stream), begun_(exec.lanes.size()) {}

  void run() {
    begin_records();
    begin();
    for (std::size_t i = 0; i < exec_.graph.nodes.size(); ++i)
      run_node(exec_.graph.nodes[i], std::move(work_[i]));
    end();
  }

 private:
  // From its launch on, an event that the graph records is that of this launch, and not done.
  void begin_records() {
    std::vector<std::uint64_t> queued;
    for (const auto& lane : exec_.lanes) queued.push_back(lane->queued);
    for (const GraphNode& node : exec_.graph.nodes) {
      const Ticket ticket{exec_.lanes[node.lane], ++queued[node.lane]};
      work_.push_back(node.call.event ? node.call.event->begin(ticket) : node.call.work);
    }
  }

  // Behind everything before the launch, and the launch before it.
  void begin() {
    roots_ = {run_call(runtime_, lock_, stream_, "cudaGraphLaunch", {}, {})};
    root_clock_ = stream_->clock;
    for (const auto& lane : exec_.lanes) {
      roots_.push_back({lane, lane->queued});
      root_clock_.join(lane->clock);
    }
  }

  void run_node(const GraphNode& node, std::function<void()> work) {
    const auto& lane = exec_.lanes[node.lane];
    std::vector<Ticket> after;
    if (!begun_[node.lane]) {
      after = roots_;
      lane->clock.join(root_clock_);
      begun_[node.lane] = true;
    }
    for (const std::size_t before : node.after) {
      after.push_back(reached_[before].ticket);
      if (checking()) lane->clock.join(reached_[before].clock);
    }
    Ticket ticket = run_call(runtime_, lock_, lane, node.call.name, node.call.accesses,
                             std::move(work), std::move(after));
    if (node.call.event) node.call.event->complete(lane->clock);
    reached_.push_back({std::move(ticket), checking() ? lane->clock : VectorClock{}});
  }

  void end() {
    std::vector<Ticket> ends;
    for (const auto& lane : exec_.lanes) {
      ends.push_back({lane, lane->queued});
      stream_->clock.join(lane->clock);
    }
    runtime_.scheduler.submit(
        lock_, stream_,
        {.call = "cudaGraphLaunch", .after = std::move(ends), .work = {}, .written = {}});
  }

  Runtime& runtime_;
  Lock& lock_;
  const CUgraphExec_st& exec_;
  const std::shared_ptr<Stream>& stream_;
  std::vector<std::function<void()>> work_;  // of each node
  std::vector<Ticket> roots_;
  VectorClock root_clock_;
  std::vector<bool> begun_;       // by lane
  std::vector<Reached> reached_;  // of each node so far
};

cudaError_t check_bounds(Runtime& runtime, const CUgraph_st& graph) {
  if (!checking()) return cudaSuccess;
  for (const GraphNode& node : graph.nodes) {
    const cudaError_t status = runtime.checker.check_bounds(node.call.name, node.call.accesses);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t replay(Runtime& runtime, Lock& lock, const CUgraphExec_st& exec,
                   const std::shared_ptr<Stream>& stream) {
  const cudaError_t status = check_bounds(runtime, exec.graph);
  if (status == cudaSuccess) Replay(runtime, lock, exec, stream).run();
  return status;
}

}  // namespace annulus::cpu
