// See stop_signals.h. The handler does what a handler may: it looks at atomics and a clock. It
// runs on a stack of its own: oneDNN's GEMM takes the stack pointer for its own ends, and a
// handler's frame below it would lie in the middle of some other memory.
#include "engine/stop_signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>

namespace annulus {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kRepeat{1'000};

std::atomic<int> deferred{0};  // how many DeferredStop live
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
std::atomic<int> noted{0};
std::atomic<std::int64_t> noted_at{0};

std::int64_t milliseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1000} * now.tv_sec + now.tv_nsec / 1'000'000;
}

extern "C" void on_stop_signal(int number) {
  const std::int64_t now = milliseconds_now();
  int none = 0;
  if (deferred && noted.compare_exchange_strong(none, number))
    noted_at = now;
  else if (!deferred || now - noted_at >= kRepeat.count())
    _exit(128 + number);
}

}  // namespace

void install_stop_signals() {
  static std::array<std::byte, 1 << 16> stack;
  const stack_t own{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

DeferredStop::DeferredStop() {
  if (deferred == 0) noted = 0;
  ++deferred;
}

DeferredStop::~DeferredStop() { --deferred; }

std::optional<int> DeferredStop::signal() const {
  const int number = noted;
  return number ? std::optional(number) : std::nullopt;
}

}  // namespace annulus
