// The latch: shut by the first loss that is not finite, for good; BatchNorm's running statistics
// then stay too (the optimizers: optimizer_test).
#include "kernels/divergence.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/batchnorm.h"
#include "kernels/cuda.h"

namespace annulus {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint32_t latched_after(const std::vector<float>& losses) {
  const Stream stream;
  Buffer<std::uint32_t> diverged(std::vector<std::uint32_t>{0});
  for (const float loss : losses) {
    const Buffer<float> value(std::vector<float>{loss});
    latch_divergence(stream.get(), value.cspan(), diverged.span());
    stream.synchronize();
  }
  return diverged.download()[0];
}

TEST(Divergence, LatchesTheFirstLossThatIsNotFinite) {
  EXPECT_EQ(latched_after({1, 0, -3e38f}), 0u);
  for (const float bad : {kNan, kInfinity, -kInfinity}) EXPECT_EQ(latched_after({1, bad, 1}), 1u);
}

TEST(Divergence, RunningStatisticsStay) {
  const Stream stream;
  const Buffer<float> batch(std::vector<float>{1, 2});
  for (const std::uint32_t diverged : {0u, 1u}) {
    const Buffer<std::uint32_t> latch(std::vector<std::uint32_t>{diverged});
    Buffer<float> running(std::vector<float>{0, 0});
    update_running_statistics(stream.get(), latch.cspan(), batch.cspan(), 0.5f, running.span());
    stream.synchronize();
    EXPECT_EQ(running.download(), (diverged ? std::vector<float>{0, 0} : std::vector{0.5f, 1.f}));
  }
}

}  // namespace
}  // namespace annulus
