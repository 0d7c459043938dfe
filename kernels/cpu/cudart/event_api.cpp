// Events and their entry points. An event is the ticket of its last record; a timing event also
// queues an operation that reads the clock.
#include <chrono>
#include <memory>

#include "kernels/cpu/cudart/graph.h"
#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"

using namespace annulus::cpu;
using Time = std::chrono::steady_clock::time_point;

struct CUevent_st {
  unsigned int flags = cudaEventDefault;
  bool recorded = false;
  Ticket ticket = {};
  VectorClock clock = {};
  std::shared_ptr<Time> time = {};  // shared with the queued operation, which may outlive the event
  std::shared_ptr<Capture> capture = {};  // if it was recorded in one
  std::vector<std::size_t> frontier = {};

  bool timing() const { return (flags & cudaEventDisableTiming) == 0; }
};

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return api([&](Runtime&) -> cudaError_t {
    if (event == nullptr || (flags & ~7u) != 0) return cudaErrorInvalidValue;
    *event = new CUevent_st{.flags = flags};
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    Lock lock(runtime.mutex);
    delete event;
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
    event->recorded = true;
    event->capture = stream->capture;
    event->frontier = stream->capture_frontier;
    if (stream->capture) return cudaSuccess;

    if (event->timing()) {
      event->time = std::make_shared<Time>();
      event->ticket = run_call(runtime, lock, stream, "cudaEventRecord", {},
                               [time = event->time] { *time = std::chrono::steady_clock::now(); });
    } else {
      event->ticket = run_call(runtime, lock, stream, "cudaEventRecord", {}, {});
    }
    event->clock = stream->clock;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int flags) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
    if (flags != 0) return cudaErrorInvalidValue;
    if (!event->recorded) {
      if (checking()) {
        report("wait on nothing",
               "cudaStreamWaitEvent on an event that was never recorded orders "
               "nothing: record it before the wait");
      }
      return cudaSuccess;
    }
    if (event->capture) {
      if (event->capture->ended()) return cudaErrorCapturedEvent;
      if (stream->capture && stream->capture != event->capture) return cudaErrorStreamCaptureMerge;
      event->capture->join(stream, event->frontier);
      return cudaSuccess;
    }
    if (stream->capture) {
      stream->capture->invalidate();
      return cudaErrorStreamCaptureIsolation;
    }
    run_call(runtime, lock, stream, "cudaStreamWaitEvent", {}, {}, {event->ticket});
    if (checking()) stream->clock.join(event->clock);
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    Lock lock(runtime.mutex);
    if (event->capture) return cudaErrorCapturedEvent;
    if (!event->ticket.done()) {
      runtime.scheduler.advance(lock);
      return cudaErrorNotReady;
    }
    runtime.checker.host_waits(event->clock);
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    Lock lock(runtime.mutex);
    if (event->capture) return cudaErrorCapturedEvent;
    const VectorClock clock = event->clock;
    runtime.scheduler.wait(lock, Ticket(event->ticket));
    runtime.checker.host_waits(clock);
    return runtime.current_device().sticky_error;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (start == nullptr || end == nullptr) return cudaErrorInvalidResourceHandle;
    Lock lock(runtime.mutex);
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    if (!start->time || !end->time) return cudaErrorInvalidResourceHandle;
    if (!start->ticket.done() || !end->ticket.done()) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *start->time).count();
    return cudaSuccess;
  });
}
