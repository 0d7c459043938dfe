// What a capture records and when it refuses. A graph is joined when the origin's last nodes have
// every other node as an ancestor.
#include "kernels/cpu/cudart/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace annulus::cpu {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

}  // namespace

Capture::Capture(const std::shared_ptr<Stream>& origin, cudaStreamCaptureMode mode)
    : mode_(mode), streams_{origin} {}

std::size_t Capture::lane_of(const Stream& stream) const {
  const auto it = std::find_if(streams_.begin(), streams_.end(),
                               [&](const auto& known) { return known.get() == &stream; });
  return static_cast<std::size_t>(it - streams_.begin());
}

cudaError_t Capture::add(Stream& stream, Call call) {
  if (!valid_) return cudaErrorStreamCaptureInvalidated;
  nodes_.push_back({std::move(call), lane_of(stream), std::move(stream.capture_frontier)});
  stream.capture_frontier = {nodes_.size() - 1};
  return cudaSuccess;
}

void Capture::join(const std::shared_ptr<Stream>& stream,
                   const std::vector<std::size_t>& frontier) {
  if (!stream->capture) {
    stream->capture = shared_from_this();
    if (lane_of(*stream) == streams_.size()) streams_.push_back(stream);
  }
  auto& own = stream->capture_frontier;
  own.insert(own.end(), frontier.begin(), frontier.end());
}

std::vector<bool> Capture::ancestors(const std::vector<std::size_t>& frontier) const {
  std::vector<bool> reached(nodes_.size());
  for (const std::size_t node : frontier) reached[node] = true;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (const std::size_t before : nodes_[i].after) reached[before] = true;
  }
  return reached;
}

cudaError_t Capture::end(const Stream& stream, CUgraph_st& graph) {
  if (streams_.front().get() != &stream) return cudaErrorStreamCaptureUnmatched;
  if (mode_ != cudaStreamCaptureModeRelaxed && thread_ != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  const std::vector<bool> joined = ancestors(stream.capture_frontier);
  const auto members = std::exchange(streams_, {});
  for (const auto& member : members) {
    member->capture = nullptr;
    member->capture_frontier.clear();
  }
  if (!valid_) return cudaErrorStreamCaptureInvalidated;
  if (const auto loose = std::find(joined.begin(), joined.end(), false); loose != joined.end()) {
    const GraphNode& node = nodes_[static_cast<std::size_t>(loose - joined.begin())];
    report(
        "unjoined capture",
        fmt::format("{} on stream {} is not joined to stream {}, where the capture began: record "
                    "an event behind it and let that stream wait for it",
                    node.call.name, members[node.lane]->slot, stream.slot));
    return cudaErrorStreamCaptureUnjoined;
  }
  graph.nodes = std::move(nodes_);
  for (const auto& member : members) graph.lanes.push_back(member->slot);
  return cudaSuccess;
}

cudaError_t refuse_implicit_capture(Runtime& runtime, const Stream& stream) {
  if (!stream.legacy) return cudaSuccess;
  for (const auto& other : runtime.scheduler.streams()) {
    if (!other->capture || !other->blocking() || other->device != stream.device) continue;
    other->capture->invalidate();
    return cudaErrorStreamCaptureImplicit;
  }
  return cudaSuccess;
}

cudaError_t refuse_while_capturing(Runtime& runtime) {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  for (const auto& stream : runtime.scheduler.streams()) {
    if (!stream->capture) continue;
    const Capture& capture = *stream->capture;
    const bool own = capture.thread() == std::this_thread::get_id();
    const bool forbids = (capture.mode() == cudaStreamCaptureModeGlobal &&
                          thread_mode == cudaStreamCaptureModeGlobal) ||
                         (own && capture.mode() != cudaStreamCaptureModeRelaxed);
    if (!forbids) continue;
    stream->capture->invalidate();
    return cudaErrorStreamCaptureUnsupported;
  }
  return cudaSuccess;
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

}  // namespace annulus::cpu
