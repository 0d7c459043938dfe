// How long something takes, honestly: samples until the median is known well enough, and the noise
// beside it. Called by the benches.
#pragma once

#include <functional>

namespace annulus::bench {

// Sampling ends after min_samples and min_seconds as soon as the error of the median (noise over
// the square root of the number of samples) is below `error`, and after max_seconds in any case.
struct StopRule {
  int min_samples = 10;
  double min_seconds = 0.2, max_seconds = 2;
  double error = 0.005;
};

struct Timing {
  double median;  // seconds
  double noise;   // half the distance between the quartiles, as a share of the median
  int samples;
};

// `sample` runs the work once and returns its seconds.
Timing measure(const StopRule& rule, const std::function<double()>& sample);

}  // namespace annulus::bench
