// The kernel is asked only where somebody sleeps: a waiter counts itself before its last look, the
// raiser looks at the count after it has raised.
#include "comm/cpu/signal.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace annulus::cpu::nccl {
namespace {

constexpr timespec kSleep{.tv_sec = 0, .tv_nsec = 10'000'000};

// Not the private kind: the word lies in several processes.
void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit) {
  syscall(SYS_futex, &word, operation, value, limit, nullptr, 0);
}

}  // namespace

void Signal::raise(std::uint32_t value) {
  core_.store(sched_getcpu(), std::memory_order_relaxed);
  value_.store(value, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) futex(value_, FUTEX_WAKE, INT_MAX, nullptr);
}

// Where the raiser was last seen on this core, a pause would only keep it from running.
bool Signal::reaches_soon(std::uint32_t value, const Patience& patience) const {
  const bool same_core = core_.load(std::memory_order_relaxed) == sched_getcpu();
  Waiter waiter({.pauses = same_core ? 0 : patience.pauses, .yields = patience.yields});
  do {
    if (has_reached(value)) return true;
  } while (waiter.stays_awake());
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
