// See stop_signals.h. The handler does what a handler may: it looks at two atomics and ends. It
// runs on a stack of its own: oneDNN's GEMM takes the stack pointer for its own ends, and a
// handler's frame below it would lie in the middle of some other memory.
#include "engine/stop_signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>

namespace annulus {
namespace {

static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<bool> deferred{false};
std::atomic<int> noted{0};

extern "C" void on_stop_signal(int number) {
  int none = 0;
  if (!deferred || !noted.compare_exchange_strong(none, number)) _exit(128 + number);
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
  noted = 0;
  deferred = true;
}

DeferredStop::~DeferredStop() { deferred = false; }

std::optional<int> DeferredStop::signal() const {
  const int number = noted;
  return number ? std::optional(number) : std::nullopt;
}

}  // namespace annulus
