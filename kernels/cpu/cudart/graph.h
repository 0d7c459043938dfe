// Stream capture and graphs. A capture records calls as nodes with the nodes they follow; a launch
// replays them on the graph's own lanes, one per captured stream, through the same queue as any
// call, so bounds and stream order are checked inside a graph too.
// Callers hold the runtime's mutex.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <thread>
#include <vector>

#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"

namespace annulus::cpu {

struct GraphNode {
  Call call;
  std::size_t lane;
  std::vector<std::size_t> after;  // earlier nodes
};

}  // namespace annulus::cpu

struct CUgraph_st {
  std::vector<annulus::cpu::GraphNode> nodes;
  std::vector<std::uint32_t> lanes;  // the slots of the streams that were captured
};

namespace annulus::cpu {

class Capture : public std::enable_shared_from_this<Capture> {
 public:
  Capture(const std::shared_ptr<Stream>& origin, cudaStreamCaptureMode mode);

  // Records a call of a captured stream.
  cudaError_t add(Stream& stream, Call call);
  // Makes the stream part of the capture, or lets it wait, behind these nodes.
  void join(const std::shared_ptr<Stream>& stream, const std::vector<std::size_t>& frontier);
  void invalidate() { valid_ = false; }
  // Ends the capture; fails, with a report, if a forked stream was not joined to the origin.
  cudaError_t end(const Stream& stream, CUgraph_st& graph);

  bool valid() const { return valid_; }
  bool ended() const { return streams_.empty(); }
  cudaStreamCaptureMode mode() const { return mode_; }
  std::thread::id thread() const { return thread_; }

 private:
  std::size_t lane_of(const Stream& stream) const;
  std::vector<bool> ancestors(const std::vector<std::size_t>& frontier) const;

  const cudaStreamCaptureMode mode_;
  const std::thread::id thread_ = std::this_thread::get_id();
  bool valid_ = true;
  std::vector<std::shared_ptr<Stream>> streams_;  // the origin first; the index is the lane
  std::vector<GraphNode> nodes_;
};

// A call on the legacy stream would wait for a blocking stream that is being captured.
cudaError_t refuse_implicit_capture(Runtime& runtime, const Stream& stream);
// A call that waits or allocates while a capture forbids it to this thread.
cudaError_t refuse_while_capturing(Runtime& runtime);

// The calling thread's mode for cudaThreadExchangeStreamCaptureMode.
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);

}  // namespace annulus::cpu

struct CUgraphExec_st {
  CUgraph_st graph;
  std::vector<std::shared_ptr<annulus::cpu::Stream>> lanes;
};

namespace annulus::cpu {

// One launch. Nothing runs if a node's memory is gone.
cudaError_t replay(Runtime& runtime, Lock& lock, const CUgraphExec_st& exec,
                   const std::shared_ptr<Stream>& stream);

}  // namespace annulus::cpu
