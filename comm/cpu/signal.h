// A number that only grows, in memory that processes share: one rank raises it, the others wait for
// it. Waiting spins shortly, where every rank can have a core, then yields, then sleeps in the
// kernel, so that a compute thread on the same core gets it. Used by the shared-memory transport.
#pragma once

#include <atomic>
#include <cstdint>

namespace annulus::cpu::nccl {

// How long a waiter stays awake.
struct Patience {
  int spins;   // looks, a pause apart
  int yields;  // looks, with the core offered to others between them

  // For so many ranks on this host.
  static Patience for_ranks(int ranks);
};

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
  bool reaches_soon(std::uint32_t value, const Patience& patience) const;
  bool sleep_until(std::uint32_t value);  // false after some milliseconds

  std::atomic<std::uint32_t> value_;
  std::atomic<std::uint32_t> sleepers_;
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
};

}  // namespace annulus::cpu::nccl
