// A number that only grows, in memory that processes share: one rank raises it, the others wait for
// it, awake at first and then asleep in the kernel. Used by the shared-memory transport.
#pragma once

#include <atomic>
#include <cstdint>

#include "comm/cpu/patience.h"

namespace annulus::cpu::nccl {

class alignas(64) Signal {
 public:
  void raise(std::uint32_t value);

  // Also with values that have wrapped round.
  bool has_reached(std::uint32_t value) const {
    return static_cast<std::int32_t>(value_.load(std::memory_order_acquire) - value) >= 0;
  }

  // False if the wait ended because `given_up()` said so; it is asked about every ten milliseconds.
  template <class GivenUp>
  bool wait_for(std::uint32_t value, const Patience& patience, const GivenUp& given_up) {
    if (reaches_soon(value, patience)) return true;
    while (!given_up()) {
      if (sleep_until(value)) return true;
    }
    return has_reached(value);
  }

 private:
  bool reaches_soon(std::uint32_t value, const Patience& patience) const;  // stays awake
  bool sleep_until(std::uint32_t value);  // false after some milliseconds

  std::atomic<std::uint32_t> value_;
  std::atomic<std::uint32_t> sleepers_;
  std::atomic<std::int32_t> core_;  // that the raiser ran on
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
};

}  // namespace annulus::cpu::nccl
