// An axis of a chart: which values it spans, where its ticks are and what stands beside them. Ticks
// are 1, 2 or 5 times a power of ten apart, or powers of ten. Called by engine/runs/chart.
#pragma once

#include <string>
#include <vector>

namespace annulus::runs {

struct Axis {
  double low = 0, high = 1;  // low < high
  bool logarithmic = false;
  std::vector<double> ticks;
  int places = 0;  // decimals of the labels

  double fraction(double value) const;  // 0 at low, 1 at high
  std::string label(double tick) const;
};

struct Extent {
  double low, high;  // low <= high, each 0 or of a size from 1e-300 to 1e300
};

enum class Rounding {
  outwards,  // the axis begins and ends at a tick
  none,      // it spans the extent alone
};

Axis linear_axis(Extent extent, int most_ticks, Rounding rounding);

// As above, with ticks at whole numbers only.
Axis integer_axis(Extent extent, int most_ticks);

// From a power of ten to another; extent.low > 0.
Axis logarithmic_axis(Extent extent, int most_ticks);

}  // namespace annulus::runs
