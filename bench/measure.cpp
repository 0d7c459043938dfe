// The stop rule and the robust statistics; see measure.h.
#include "bench/measure.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace annulus::bench {
namespace {

Timing summarize(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[std::lround(share * static_cast<double>(samples.size() - 1))];
  };
  const double median = at(0.5);
  return {median, (at(0.75) - at(0.25)) / 2 / median, static_cast<int>(samples.size())};
}

}  // namespace

Timing measure(const StopRule& rule, const std::function<double()>& sample) {
  std::vector<double> samples;
  double total = 0;
  while (true) {
    samples.push_back(sample());
    total += samples.back();
    if (total >= rule.max_seconds) break;
    if (static_cast<int>(samples.size()) < rule.min_samples || total < rule.min_seconds) continue;
    const Timing timing = summarize(samples);
    if (timing.noise / std::sqrt(static_cast<double>(timing.samples)) < rule.error) break;
  }
  return summarize(samples);
}

}  // namespace annulus::bench
