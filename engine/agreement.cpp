// See agreement.h.
#include "engine/agreement.h"

#include <csignal>

namespace annulus {

Requests Agreement::requests() const {
  const int signal = deferred_.signal().value_or(0);
  const bool due = first_ && checkpoint_every_.count() > 0 &&
                   Clock::now() - last_checkpoint_ >= checkpoint_every_;
  return {.interrupt = signal == SIGINT ? 1.f : 0.f,
          .terminate = signal == SIGTERM ? 1.f : 0.f,
          .checkpoint = due ? 1.f : 0.f};
}

void Agreement::heard(const StepResult& result) {
  const std::size_t after = result.update + 1 + TrainStep::kInFlight;
  const Requests& asked = result.requests;
  if (!stop_after_ && (asked.interrupt > 0 || asked.terminate > 0)) {
    stop_after_ = after;
    signal_ = asked.terminate > 0 ? SIGTERM : SIGINT;
  }
  if (!checkpoint_after_ && asked.checkpoint > 0) checkpoint_after_ = after;
}

std::optional<int> Agreement::stops_after(std::size_t updates) const {
  if (alone_) return deferred_.signal();
  return stop_after_ && updates >= *stop_after_ ? std::optional(signal_) : std::nullopt;
}

bool Agreement::checkpoint_after(std::size_t updates) {
  if (!checkpoint_after_ || updates < *checkpoint_after_) return false;
  checkpoint_after_.reset();
  last_checkpoint_ = Clock::now();
  return true;
}

}  // namespace annulus
