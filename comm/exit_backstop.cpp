// The only place beside main that ends the process: what it is for is that main is not reached.
#include "comm/exit_backstop.h"

#include <fmt/format.h>

#include <cstdlib>
#include <thread>

#include "comm/console.h"

namespace annulus {

void ExitBackstop::arm(ExitCode code, const std::string& reason,
                       std::chrono::milliseconds patience) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->armed || state_->disarmed) return;
    state_->armed = true;
  }
  std::thread([state = state_, code, reason, patience] {
    std::unique_lock lock(state->mutex);
    if (state->changed.wait_for(lock, patience, [&] { return state->disarmed; })) return;
    report_error(fmt::format("{}; the device has not come back for {} ms: the process ends", reason,
                             patience.count()));
    std::_Exit(static_cast<int>(code));
  }).detach();
}

void ExitBackstop::disarm() {
  const std::lock_guard lock(state_->mutex);
  state_->disarmed = true;
  state_->changed.notify_all();
}

}  // namespace annulus
