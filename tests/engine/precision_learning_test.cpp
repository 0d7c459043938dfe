// Half precisions learn as well as fp32: mean accuracy of seed-cnn over three seeds, two epochs of
// CIFAR-10 (where there is none, of the synthetic set), within 1.5 points. Long: nine runs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/engine/accuracy_after.h"

namespace annulus {
namespace {

double mean_accuracy(const std::string& precision) {
  constexpr int kSeeds = 3, kEpochs = 2;
  const char* data = std::getenv("ANNULUS_DATA");
  double sum = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const double accuracy = test::accuracy_after(
        {.batch_size = 128, .seed = std::uint64_t(seed), .precision = precision}, kEpochs,
        data ? data : "synthetic");
    std::printf("%s, seed %d: %.4f\n", precision.c_str(), seed, accuracy);
    sum += accuracy;
  }
  return sum / kSeeds;
}

TEST(PrecisionLearning, MeanOfThreeSeedsIsWithinOneAndAHalfPointsOfFp32) {
  const double fp32 = mean_accuracy("fp32");
  EXPECT_GT(fp32, 0.4459) << "the reference experiment";
  EXPECT_NEAR(mean_accuracy("bf16"), fp32, 0.015);
  EXPECT_NEAR(mean_accuracy("fp16"), fp32, 0.015);
}

}  // namespace
}  // namespace annulus
