// Notes about strangers; see comm/control_strangers.h.
#include "comm/control_strangers.h"

#include <fmt/format.h>

#include <utility>

#include "comm/console.h"

namespace annulus::control {
namespace {

constexpr std::chrono::minutes between_lines{1};

}  // namespace

void StrangerLog::tell(Stranger stranger, const std::string& address, const std::string& reason) {
  Kind& kind = kinds_.at(static_cast<std::size_t>(stranger));
  const Clock::time_point now = Clock::now();
  if (now < kind.silent_until) {
    ++kind.untold;
    return;
  }
  kind.silent_until = now + between_lines;
  const std::size_t untold = std::exchange(kind.untold, 0);
  const std::string more = untold == 0 ? "" : fmt::format(" (and {} others before)", untold);
  note(fmt::format("annulus: {} was sent away: {}{}\n", address, reason, more));
}

}  // namespace annulus::control
