// The checks in the order in which a call meets them, and the words of their reports.
#include "kernels/cpu/cudart/checker.h"

#include <fmt/format.h>

namespace annulus::cpu {
namespace {

const char* verb(bool write) { return write ? "writes" : "reads"; }

std::string place(const Stamp& stamp) {
  return stamp.captured_on == 0 ? fmt::format("stream {}", stamp.slot)
                                : fmt::format("stream {} in a graph", stamp.captured_on);
}

}  // namespace

cudaError_t Checker::check_bounds(const char* call, std::span<const Access> accesses) {
  for (const Access& access : accesses) {
    if (access.data == nullptr || access.bytes == 0) continue;
    const auto allocation = allocations_.find(access.data);
    if (allocation == nullptr) {
      report("host pointer",
             fmt::format("{} {} {} bytes at {}, which is not device memory: copy it "
                         "there, or allocate it with cudaMalloc",
                         call, verb(access.write), access.bytes, access.data));
      return cudaErrorIllegalAddress;
    }
    const std::size_t begin = allocation->offset(access.data);
    if (allocation->freed) {
      report("use after free",
             fmt::format("{} {} bytes [{}, {}) of {}, which has been freed", call,
                         verb(access.write), begin, begin + access.bytes, allocation->describe()));
      return cudaErrorIllegalAddress;
    }
    if (!allocation->contains(access.data, access.bytes)) {
      report("out of bounds", fmt::format("{} {} bytes [{}, {}) of {}", call, verb(access.write),
                                          begin, begin + access.bytes, allocation->describe()));
      return cudaErrorIllegalAddress;
    }
  }
  return cudaSuccess;
}

void Checker::enter(const char* call, Stream& stream, std::span<const Access> accesses) {
  stream.clock.join(host_);
  const Stamp stamp = stream.clock.tick(stream.slot, call, stream.captured_slot);
  for (const Access& access : accesses) {
    if (access.data == nullptr || access.bytes == 0) continue;
    const auto allocation = allocations_.find(access.data);
    if (allocation == nullptr) continue;
    const std::size_t begin = allocation->offset(access.data);
    const std::size_t end = begin + access.bytes;
    const auto conflict = allocation->history.enter(begin, end, access.write, stamp, stream.clock);
    if (!conflict) continue;
    report("race",
           fmt::format("{} on {} {} bytes [{}, {}) of {} without an event or wait behind {} on {}, "
                       "which {} them",
                       call, place(stamp), verb(access.write), std::max(begin, conflict->begin),
                       std::min(end, conflict->end), allocation->describe(), conflict->earlier.call,
                       place(conflict->earlier), verb(conflict->earlier_writes)));
  }
}

void Checker::check_free(const char* call, const Allocation& allocation) {
  if (const auto conflict = allocation.history.unordered(host_)) {
    report(
        "free while in use",
        fmt::format("{} of {} before the host has waited for {} on {}, which {} bytes [{}, {})",
                    call, allocation.describe(), conflict->earlier.call, place(conflict->earlier),
                    verb(conflict->earlier_writes), conflict->begin, conflict->end));
  }
}

}  // namespace annulus::cpu
