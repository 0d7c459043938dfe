// Events and their entry points. An event is the ticket of its last record; a timing event also
// queues an operation that reads the clock.
#include "kernels/cpu/cudart/event.h"

#include <memory>

#include "kernels/cpu/cudart/graph.h"
#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"

using namespace annulus::cpu;

struct CUevent_st {
  std::shared_ptr<EventRecord> record;
  bool recorded = false;
  std::shared_ptr<Capture> capture = {};  // if it was recorded in one, to order its streams
  std::vector<std::size_t> frontier = {};
};

namespace {

// In a capture: a node that records the event for the host at each launch, and orders nothing.
cudaError_t capture_record(Stream& stream, CUevent_st& event) {
  event.recorded = true;
  event.capture = nullptr;
  return stream.capture->add(
      stream, {.name = "cudaEventRecord", .accesses = {}, .work = {}, .event = event.record});
}

cudaError_t record(Runtime& runtime, Lock& lock, const std::shared_ptr<Stream>& stream,
                   CUevent_st& event) {
  event.recorded = true;
  event.capture = stream->capture;
  event.frontier = stream->capture_frontier;
  if (stream->capture) return cudaSuccess;
  run_call(runtime, lock, stream, "cudaEventRecord", {},
           event.record->begin({stream, stream->queued + 1}));
  event.record->complete(stream->clock);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return api([&](Runtime&) -> cudaError_t {
    if (event == nullptr || (flags & ~7u) != 0) return cudaErrorInvalidValue;
    const bool timing = (flags & cudaEventDisableTiming) == 0;
    *event = new CUevent_st{.record = std::make_shared<EventRecord>(timing)};
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
  return cudaEventRecordWithFlags(event, handle, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned int flags) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
    if (flags > cudaEventRecordExternal) return cudaErrorInvalidValue;
    if (flags == cudaEventRecordDefault) return record(runtime, lock, stream, *event);
    return stream->capture ? capture_record(*stream, *event) : cudaErrorInvalidValue;
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
    run_call(runtime, lock, stream, "cudaStreamWaitEvent", {}, {}, {event->record->ticket()});
    if (checking()) stream->clock.join(event->record->clock());
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    Lock lock(runtime.mutex);
    if (event->capture) return cudaErrorCapturedEvent;
    if (!event->record->ticket().done()) {
      runtime.scheduler.advance(lock);
      return cudaErrorNotReady;
    }
    runtime.checker.host_waits(event->record->clock());
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    Lock lock(runtime.mutex);
    if (event->capture) return cudaErrorCapturedEvent;
    const VectorClock clock = event->record->clock();
    runtime.scheduler.wait(lock, Ticket(event->record->ticket()));
    runtime.checker.host_waits(clock);
    return runtime.current_device().sticky_error;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (start == nullptr || end == nullptr) return cudaErrorInvalidResourceHandle;
    Lock lock(runtime.mutex);
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    const EventRecord &first = *start->record, &last = *end->record;
    if (!first.time() || !last.time()) return cudaErrorInvalidResourceHandle;
    if (!first.ticket().done() || !last.ticket().done()) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(*last.time() - *first.time()).count();
    return cudaSuccess;
  });
}
