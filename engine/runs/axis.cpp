// See axis.h.
#include "engine/runs/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace annulus::runs {
namespace {

// The smallest 1, 2 or 5 times a power of ten that is no smaller than `least`.
double nice_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double digit : {1, 2, 5})
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

// Equal values are given room, so that they have a place in the middle.
Extent widened(Extent extent) {
  const double size = std::max(std::abs(extent.low), std::abs(extent.high));
  if (extent.high - extent.low > 1e-9 * size) return extent;
  const double room = size > 0 ? 0.1 * size : 0.5;
  return {extent.low - room, extent.high + room};
}

Axis with_step(Extent extent, double step, Rounding rounding) {
  Axis axis{.low = extent.low, .high = extent.high};
  const double first = std::floor(extent.low / step), last = std::ceil(extent.high / step);
  if (rounding == Rounding::outwards) {
    axis.low = first * step;
    axis.high = last * step;
  }
  const double slack = 1e-6 * step;
  for (double n = first; n <= last; ++n)
    if (n * step >= axis.low - slack && n * step <= axis.high + slack)
      axis.ticks.push_back(n * step);
  axis.places = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return axis;
}

}  // namespace

double Axis::fraction(double value) const {
  if (logarithmic) return std::log10(value / low) / std::log10(high / low);
  return (value - low) / (high - low);
}

std::string Axis::label(double tick) const {
  const double size = std::abs(tick);
  if (size >= 1e6 || (logarithmic && size < 1e-3)) return fmt::format("{:.4g}", tick);
  if (logarithmic) return fmt::format("{:g}", tick);
  if (places > 6) return fmt::format("{:.3g}", tick);
  return fmt::format("{:.{}f}", size < 1e-12 ? 0.0 : tick, places);
}

Axis linear_axis(Extent extent, int most_ticks, Rounding rounding) {
  const Extent wide = widened(extent);
  return with_step(wide, nice_step((wide.high - wide.low) / most_ticks), rounding);
}

Axis integer_axis(Extent extent, int most_ticks) {
  if (extent.low == extent.high) extent = {extent.low - 0.5, extent.high + 0.5};
  const double step = nice_step((extent.high - extent.low) / most_ticks);
  return with_step(extent, std::max(1.0, step), Rounding::none);
}

Axis logarithmic_axis(Extent extent, int most_ticks) {
  const double first = std::floor(std::log10(extent.low));
  const double last = std::max(first + 1, std::ceil(std::log10(extent.high)));
  const double step = std::max(1.0, std::ceil((last - first) / most_ticks));
  Axis axis{.low = std::pow(10, first), .high = std::pow(10, last), .logarithmic = true};
  for (double n = first; n <= last; n += step) axis.ticks.push_back(std::pow(10, n));
  return axis;
}

}  // namespace annulus::runs
