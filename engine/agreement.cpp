// See agreement.h.
#include "engine/agreement.h"

#include <csignal>
#include <utility>

namespace annulus {

Requests Agreement::requests() const {
  const int signal = deferred_.signal().value_or(0);
  const bool due = first_ && checkpoint_every_.count() > 0 &&
                   Clock::now() - last_checkpoint_ >= checkpoint_every_;
  return {.interrupt = signal == SIGINT ? 1.f : 0.f,
          .terminate = signal == SIGTERM ? 1.f : 0.f,
          .checkpoint = due ? 1.f : 0.f};
}

void Agreement::heard(const Requests& asked) {
  if (!stop_ && asked.terminate > 0) stop_ = SIGTERM;
  if (!stop_ && asked.interrupt > 0) stop_ = SIGINT;
  if (asked.checkpoint > 0) checkpoint_ = true;
}

std::optional<int> Agreement::stop() const { return alone_ ? deferred_.signal() : stop_; }

bool Agreement::take_checkpoint() {
  if (!std::exchange(checkpoint_, false)) return false;
  last_checkpoint_ = Clock::now();
  return true;
}

}  // namespace annulus
