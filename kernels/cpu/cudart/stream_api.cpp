// Entry points of streams, and of host functions on them.
#include "kernels/cpu/cudart/graph.h"
#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"

using namespace annulus::cpu;

namespace {

constexpr int kLowestPriority = 0;
constexpr int kHighestPriority = -5;

// Runs body(lock, stream) for a living stream.
template <class Body>
cudaError_t on_stream(cudaStream_t handle, Body&& body) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    return body(runtime, lock, stream);
  });
}

// Waiting for a stream that is being captured would wait for work that never runs.
cudaError_t refuse_captured(Runtime& runtime, const Stream& stream) {
  if (stream.capture) {
    stream.capture->invalidate();
    return cudaErrorStreamCaptureUnsupported;
  }
  return refuse_implicit_capture(runtime, stream);
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, kLowestPriority);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, kLowestPriority);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
    Lock lock(runtime.mutex);
    const int clamped = std::min(std::max(priority, kHighestPriority), kLowestPriority);
    *stream = runtime.scheduler.create(current_device_index(), flags, clamped).get();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api([&](Runtime&) -> cudaError_t {
    if (least) *least = kLowestPriority;
    if (greatest) *greatest = kHighestPriority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return on_stream(handle, [&](Runtime&, Lock&, const auto& stream) -> cudaError_t {
    if (priority == nullptr) return cudaErrorInvalidValue;
    *priority = stream->priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  return on_stream(handle, [&](Runtime&, Lock&, const auto& stream) -> cudaError_t {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = stream->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return on_stream(handle, [&](Runtime& runtime, Lock& lock, const auto& stream) -> cudaError_t {
    if (stream->legacy) return cudaErrorInvalidResourceHandle;
    if (stream->capture) {
      stream->capture->invalidate();
      return cudaErrorStreamCaptureUnsupported;
    }
    runtime.scheduler.destroy(lock, stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return on_stream(handle, [&](Runtime& runtime, Lock& lock, const auto& stream) -> cudaError_t {
    if (const cudaError_t refused = refuse_captured(runtime, *stream); refused != cudaSuccess)
      return refused;
    wait_for_stream(runtime, lock, stream);
    return runtime.device(stream->device).sticky_error;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return on_stream(handle, [&](Runtime& runtime, Lock& lock, const auto& stream) -> cudaError_t {
    if (const cudaError_t refused = refuse_captured(runtime, *stream); refused != cudaSuccess)
      return refused;
    if (stream->completed < stream->queued) {
      runtime.scheduler.advance(lock);
      return cudaErrorNotReady;
    }
    runtime.checker.host_waits(stream->clock);
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return on_stream(handle, [&](Runtime& runtime, Lock& lock, const auto& stream) -> cudaError_t {
    if (function == nullptr) return cudaErrorInvalidValue;
    return queue_call(runtime, lock, stream, "cudaLaunchHostFunc", {},
                      [function, data] { function(data); });
  });
}
