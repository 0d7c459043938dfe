// Does it learn? Whole runs by the models' default recipes: the synthetic set by a CNN, real
// digits, and one epoch of CIFAR-10 at the reference experiment's global batch, which must be past
// the accuracy that experiment reached in ten.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/engine/accuracy_after.h"

namespace annulus {
namespace {

using test::accuracy_after;

TEST(Learning, ACnnLearnsTheSyntheticSet) {
  EXPECT_GT(accuracy_after({.model = "resnet-8", .batch_size = 64}, 3, "synthetic"), 0.8);
}

TEST(Learning, FiveEpochsOfDigitsPass97Percent) {
  const char* shared = std::getenv("ANNULUS_SHARED");
  const std::string digits = std::string(shared ? shared : "") + "/data/mnist-10k";
  if (!shared || !std::filesystem::exists(digits)) GTEST_SKIP() << "skipped: no ../shared";
  EXPECT_GT(accuracy_after({.model = "mnist-cnn", .batch_size = 64}, 5, digits), 0.97);
}

TEST(Learning, OneEpochOfCifar10PassesTheReferenceExperiment) {
  const char* data = std::getenv("ANNULUS_DATA");
  if (!data) {
    std::cout << "skipped: no ANNULUS_DATA\n";
    return;
  }
  EXPECT_GT(accuracy_after({.model = "seed-cnn", .batch_size = 64, .virtual_ranks = 16}, 1, data),
            0.4459);
}

}  // namespace
}  // namespace annulus
