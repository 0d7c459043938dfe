// Entry points of stream capture and graphs.
#include <memory>
#include <utility>

#include "kernels/cpu/cudart/graph.h"
#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"

using namespace annulus::cpu;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->legacy) return cudaErrorStreamCaptureUnsupported;
    if (stream->capture) return cudaErrorIllegalState;
    stream->capture = std::make_shared<Capture>(stream, mode);
    stream->capture_frontier.clear();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (graph == nullptr) return cudaErrorInvalidValue;
    *graph = nullptr;
    const auto capture = stream->capture;
    if (capture == nullptr) return cudaErrorIllegalState;
    auto made = std::make_unique<CUgraph_st>();
    const cudaError_t status = capture->end(*stream, *made);
    if (status == cudaSuccess) *graph = made.release();
    return status;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (status == nullptr) return cudaErrorInvalidValue;
    *status = !stream->capture           ? cudaStreamCaptureStatusNone
              : stream->capture->valid() ? cudaStreamCaptureStatusActive
                                         : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api([&](Runtime&) -> cudaError_t {
    if (mode == nullptr) return cudaErrorInvalidValue;
    *mode = exchange_capture_mode(*mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return api([&](Runtime&) -> cudaError_t {
    if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
    if (nodes != nullptr) return cudaErrorNotSupported;  // only their number is to be had
    *count = graph->nodes.size();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    if (exec == nullptr || graph == nullptr) return cudaErrorInvalidValue;
    auto made = std::make_unique<CUgraphExec_st>();
    made->graph = *graph;
    for (const std::uint32_t captured : graph->lanes) {
      made->lanes.push_back(
          runtime.scheduler.create(current_device_index(), cudaStreamNonBlocking, 0));
      made->lanes.back()->captured_slot = captured;
    }
    *exec = made.release();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (exec == nullptr) return cudaErrorInvalidValue;
    if (stream->capture) return cudaErrorStreamCaptureUnsupported;
    return replay(runtime, lock, *exec, stream);
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    if (exec == nullptr) return cudaErrorInvalidValue;
    for (const auto& lane : exec->lanes) runtime.scheduler.retire(*lane);
    delete exec;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api([&](Runtime&) -> cudaError_t {
    if (graph == nullptr) return cudaErrorInvalidValue;
    delete graph;
    return cudaSuccess;
  });
}
