// A yield that took long means that another thread needs the core: sleeping serves both better,
// since the kernel wakes a sleeper as soon as what it waits for is there.
#include "comm/cpu/patience.h"

#include <immintrin.h>
#include <sched.h>

#include <chrono>

namespace annulus::cpu::nccl {
namespace {

constexpr std::chrono::microseconds kLongYield{50};

}  // namespace

bool Waiter::stays_awake() {
  if (looks_ < patience_.pauses) {
    ++looks_;
    _mm_pause();
    return true;
  }
  if (looks_ >= patience_.pauses + patience_.yields) return false;
  ++looks_;
  return offers_core();
}

bool Waiter::offers_core() const {
  const auto before = std::chrono::steady_clock::now();
  sched_yield();
  return std::chrono::steady_clock::now() - before < kLongYield;
}

}  // namespace annulus::cpu::nccl
