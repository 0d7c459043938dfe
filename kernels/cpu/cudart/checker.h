// The checker: decides for every call whether the memory it declares is device memory, in bounds,
// alive, and ordered behind each earlier conflicting call by streams, events and host waits.
// Order is happens-before by vector clocks, so a race is found whichever way the streams ran.
// All host threads count as one. Callers hold the runtime's mutex.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/cudart/clock.h"
#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudart/memory.h"
#include "kernels/cpu/cudart/stream.h"

namespace annulus::cpu {

class Checker {
 public:
  explicit Checker(const AllocationTable& allocations) : allocations_(allocations) {}

  // Device (or pinned) memory that lies inside one living allocation, or a report and the error.
  cudaError_t check_bounds(const char* call, std::span<const Access> accesses);
  // Enters the call behind everything its stream knows; reports races.
  void enter(const char* call, Stream& stream, std::span<const Access> accesses);
  // Reports a free of memory that some stream may still use.
  void check_free(const char* call, const Allocation& allocation);

  void stream_waits(Stream& stream, const VectorClock& clock) { stream.clock.join(clock); }
  void host_waits(const VectorClock& clock) { host_.join(clock); }
  const VectorClock& host_clock() const { return host_; }

 private:
  const AllocationTable& allocations_;
  VectorClock host_;
};

}  // namespace annulus::cpu
