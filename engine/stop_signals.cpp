// See stop_signals.h. The handler does what a handler may: it looks at two atomics and ends.
#include "engine/stop_signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

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
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
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
