// What the registry cannot show of dropout: who shares a mask, and the statistics of masks.
#include "kernels/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda.h"
#include "kernels/simt_host.h"

namespace annulus {
namespace {

struct Call {
  std::uint64_t seed = 5;
  std::uint32_t step = 0;
  DropoutKey key{.layer = 0, .first_position = 0};
  float rate = 0.5f;
  int images = 1;
};

StepState state_of(const Call& call) {
  return {.seed = call.seed, .step = call.step, .epoch = 0, .first_sample = 0, .learning_rate = 0};
}

std::vector<float> dropped(const Call& call, const std::vector<float>& x) {
  const Stream stream;
  const Buffer<StepState> state(std::vector{state_of(call)});
  const Buffer<float> input(x), output(x.size());
  dropout(stream.get(), call.key, state.cspan(), call.rate, call.images, input.cspan(),
          output.span());
  stream.synchronize();
  return output.download();
}

std::vector<float> ones(std::size_t size) { return std::vector<float>(size, 1.f); }

// Which of `size` elements are kept.
std::vector<bool> mask(const Call& call, std::size_t size) {
  std::vector<bool> kept;
  for (float y : dropped(call, ones(size))) kept.push_back(y != 0);
  return kept;
}

TEST(Dropout, MaskDoesNotDependOnTheSplitOverRanks) {
  constexpr int kImages = 12;
  constexpr std::size_t kSample = 37;  // not a multiple of four
  const std::vector<float> whole = dropped({.images = kImages}, ones(kImages * kSample));
  for (int ranks : {2, 3, 5, 12}) {
    std::vector<float> joined;
    for (int rank = 0; rank < ranks; ++rank) {
      const int first = kImages * rank / ranks, end = kImages * (rank + 1) / ranks;
      const Call call{.key = {.layer = 0, .first_position = static_cast<std::uint32_t>(first)},
                      .images = end - first};
      const std::vector<float> part = dropped(call, ones((end - first) * kSample));
      joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined, whole) << ranks << " ranks";
  }
}

TEST(Dropout, MaskDependsOnSeedStepLayerAndPosition) {
  constexpr std::size_t kSize = 64;
  const std::vector<bool> base = mask({}, kSize);
  EXPECT_EQ(mask({}, kSize), base);
  EXPECT_NE(mask({.seed = 6}, kSize), base);
  EXPECT_NE(mask({.seed = 5 + (1ull << 32)}, kSize), base);
  EXPECT_NE(mask({.step = 1}, kSize), base);
  EXPECT_NE(mask({.key = {.layer = 1, .first_position = 0}}, kSize), base);
  EXPECT_NE(mask({.key = {.layer = 0, .first_position = 1}}, kSize), base);
}

TEST(Dropout, TheSameCallOnTheGradientHasTheSameMask) {
  const Call call{.step = 3, .rate = 0.3f, .images = 5};
  std::vector<float> gradient;
  for (int i = 1; i <= 5 * 77; ++i) gradient.push_back(static_cast<float>(i));
  const std::vector<float> forward = dropped(call, ones(gradient.size()));
  const std::vector<float> backward = dropped(call, gradient);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    EXPECT_EQ(backward[i], forward[i] * gradient[i]) << i;
}

// The bounds are five standard deviations; the counts are the same on every run.
TEST(Dropout, KeepsTheRateAndTheMean) {
  constexpr int kImages = 16;
  constexpr std::size_t kSize = kImages * 4099;
  for (float rate : {0.1f, 0.5f, 0.9f}) {
    const std::vector<float> y = dropped({.rate = rate, .images = kImages}, ones(kSize));
    double kept = 0, kept_pairs = 0, sum = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      kept += y[i] != 0;
      kept_pairs += i > 0 && y[i] != 0 && y[i - 1] != 0;
      sum += y[i];
    }
    const double keep = 1.0 - rate;
    const double deviation = std::sqrt(keep * rate / kSize);
    EXPECT_NEAR(kept / kSize, keep, 5 * deviation);
    EXPECT_NEAR(sum / kSize, 1.0, 5 * deviation / keep);
    EXPECT_NEAR(kept_pairs / kSize, keep * keep, 10 * deviation) << "neighbours are dependent";
  }
}

TEST(Dropout, RateZeroCopies) {
  std::vector<float> x;
  for (int i = 0; i < 103; ++i) x.push_back(0.1f * static_cast<float>(i) - 3);
  EXPECT_EQ(dropped({.rate = 0}, x), x);
}

TEST(Dropout, TheEmulatedKernelHasTheSameMask) {
  const Call call{.step = 2, .rate = 0.2f, .images = 7};
  simt::use_cpu_forms(false);
  const std::vector<float> emulated = dropped(call, ones(7 * 333));
  simt::use_cpu_forms(true);
  EXPECT_EQ(emulated, dropped(call, ones(7 * 333)));
}

TEST(Dropout, WorksInPlace) {
  const Call call{.images = 3};
  const Stream stream;
  const Buffer<StepState> state(std::vector{state_of(call)});
  const Buffer<float> x(ones(3 * 50));
  dropout(stream.get(), call.key, state.cspan(), call.rate, call.images, x.cspan(), x.span());
  stream.synchronize();
  EXPECT_EQ(x.download(), dropped(call, ones(3 * 50)));
}

TEST(Dropout, ADroppedNanIsNotHidden) {
  const std::vector<float> y =
      dropped({.rate = 0.9f}, std::vector<float>(40, std::numeric_limits<float>::quiet_NaN()));
  for (float value : y) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace annulus
