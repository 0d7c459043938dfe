// See schedule.h.
#include "engine/schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "kernels/check.h"

namespace annulus {

ScheduleKind parse_schedule(const std::string& name) {
  if (name == "constant") return ScheduleKind::constant;
  if (name == "warm-up") return ScheduleKind::warm_up;
  if (name == "one-cycle") return ScheduleKind::one_cycle;
  if (name == "cosine") return ScheduleKind::cosine;
  throw UserError(
      ExitCode::usage,
      fmt::format("--schedule {}: there is no such schedule; one of: constant, warm-up, "
                  "one-cycle, cosine",
                  name));
}

double Schedule::rate(std::size_t update) const {
  const double since = (double(update - begin) + 0.5) / double(updates - begin);
  const double done = progress + (1.0 - progress) * since;
  if (kind == ScheduleKind::constant) return peak;
  if (done < warmup) return peak * done / warmup;
  const double rest = (done - warmup) / (1.0 - warmup);  // 0 to 1 after the warm-up
  switch (kind) {
    case ScheduleKind::one_cycle:
      return peak * (1.0 - rest);
    case ScheduleKind::cosine:
      return peak * 0.5 * (1.0 + std::cos(std::numbers::pi * rest));
    default:
      return peak;
  }
}

}  // namespace annulus
