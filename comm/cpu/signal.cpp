// The kernel is asked only where somebody sleeps: a waiter counts itself before its last look, the
// raiser looks at the count after it has raised.
#include "comm/cpu/signal.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <ctime>

namespace annulus::cpu::nccl {
namespace {

constexpr int kSpins = 200;  // some four microseconds
constexpr int kYields = 40;  // some twenty, while nobody else wants the core
constexpr std::chrono::microseconds kLongYield{50};  // somebody does
constexpr timespec kSleep{.tv_sec = 0, .tv_nsec = 10'000'000};

// Not the private kind: the word lies in several processes.
void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit) {
  syscall(SYS_futex, &word, operation, value, limit, nullptr, 0);
}

}  // namespace

Patience Patience::for_ranks(int ranks) {
  const bool core_each = ranks <= sysconf(_SC_NPROCESSORS_ONLN);
  return {.spins = core_each ? kSpins : 1, .yields = kYields};
}

void Signal::raise(std::uint32_t value) {
  value_.store(value, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) futex(value_, FUTEX_WAKE, INT_MAX, nullptr);
}

bool Signal::reaches_soon(std::uint32_t value, const Patience& patience) const {
  for (int i = 0; i < patience.spins; ++i) {
    if (has_reached(value)) return true;
    _mm_pause();
  }
  auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < patience.yields; ++i) {
    if (has_reached(value)) return true;
    sched_yield();
    const auto now = std::chrono::steady_clock::now();
    if (now - before > kLongYield) break;
    before = now;
  }
  return has_reached(value);
}

bool Signal::sleep_until(std::uint32_t value) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = value_.load(std::memory_order_seq_cst);
  if (static_cast<std::int32_t>(seen - value) < 0) futex(value_, FUTEX_WAIT, seen, &kSleep);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return has_reached(value);
}

}  // namespace annulus::cpu::nccl
