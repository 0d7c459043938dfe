// Queueing: the one way by which kernels, copies, library calls and host functions reach a stream.
// Checks what a call declares, orders the legacy default stream as CUDA does, and records instead
// of running while the stream is being captured. Callers hold the runtime's mutex.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudart/event.h"
#include "kernels/cpu/cudart/runtime.h"

namespace annulus::cpu {

// One call as it is captured and replayed.
struct Call {
  const char* name;
  std::vector<Access> accesses;
  std::function<void()> work;
  std::shared_ptr<EventRecord> event = {};  // that the call records
};

// Queues or captures a call.
cudaError_t queue_call(Runtime& runtime, Lock& lock, const std::shared_ptr<Stream>& stream,
                       const char* name, std::span<const Access> accesses,
                       std::function<void()> work);

// Runs a call on the stream behind `after`, which is beside what the stream's own order demands.
Ticket run_call(Runtime& runtime, Lock& lock, const std::shared_ptr<Stream>& stream,
                const char* name, std::span<const Access> accesses, std::function<void()> work,
                std::vector<Ticket> after = {});

// Waits until the stream's work so far is done, and tells the checker that the host did.
void wait_for_stream(Runtime& runtime, Lock& lock, const std::shared_ptr<Stream>& stream);
void wait_for_device(Runtime& runtime, Lock& lock, int device);

}  // namespace annulus::cpu
