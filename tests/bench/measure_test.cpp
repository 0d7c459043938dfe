// bench/measure on made-up clocks: when it stops, and what it says of the samples.
#include "bench/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace annulus::bench {
namespace {

// Gives the samples in turn, again and again.
std::function<double()> clock_of(std::vector<double> samples) {
  return [samples = std::move(samples), next = std::size_t{0}]() mutable {
    return samples[next++ % samples.size()];
  };
}

constexpr StopRule kRule{.min_samples = 10, .min_seconds = 0.2, .max_seconds = 2, .error = 0.005};

TEST(MeasureTest, QuietClockStopsAtTheMinimum) {
  EXPECT_EQ(measure(kRule, clock_of({0.1})).samples, 10);     // samples decide
  EXPECT_EQ(measure(kRule, clock_of({0.001})).samples, 200);  // seconds decide
  EXPECT_DOUBLE_EQ(measure(kRule, clock_of({0.1})).median, 0.1);
  EXPECT_DOUBLE_EQ(measure(kRule, clock_of({0.1})).noise, 0);
}

TEST(MeasureTest, NoisyClockIsSampledUntilTheMedianIsKnown) {
  const Timing timing = measure(kRule, clock_of({0.001, 0.0011, 0.0012}));
  EXPECT_GT(timing.samples, 200);
  EXPECT_NEAR(timing.noise, 0.0001 / 0.0011, 1e-6);
  EXPECT_LT(timing.noise / std::sqrt(timing.samples), kRule.error);
}

TEST(MeasureTest, TimeIsLimited) {
  const Timing timing = measure(kRule, clock_of({0.01, 0.09}));
  EXPECT_NEAR(timing.samples, 40, 1);
}

TEST(MeasureTest, OneDisturbedSampleMovesNothing) {
  std::vector<double> samples(100, 0.01);
  samples[50] = 1;
  const Timing timing = measure(kRule, clock_of(samples));
  EXPECT_DOUBLE_EQ(timing.median, 0.01);
  EXPECT_DOUBLE_EQ(timing.noise, 0);
}

}  // namespace
}  // namespace annulus::bench
