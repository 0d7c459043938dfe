// --replace as the program takes it: refusals, resuming, and what a run says of it.
#include <gtest/gtest.h>

#include "tests/engine/stopped_run.h"

namespace annulus::test {
namespace {

// 24 updates an epoch.
const std::string kRun =
    "train --data data --model mnist-cnn --batch-size 5 --epochs 2 "
    "--replace batchnorm=cudnn,dropout=cudnn ";

class ReplaceOption : public StoppedRun {
 protected:
  void refused(const std::string& arguments, const std::string& words) {
    EXPECT_EQ(run("train " + arguments), 2) << arguments;
    EXPECT_NE(err_.find(words), std::string::npos) << err_;
    EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
  }
};

TEST_F(ReplaceOption, IsRefusedInOneLine) {
  refused("--replace pool=cudnn",
          "--replace pool=cudnn: 'pool=cudnn' cannot be replaced; what can");
  refused("--replace batchnorm=cudnn --sync-batchnorm",
          "--sync-batchnorm with --replace batchnorm=cudnn");
}

// A run that goes on where an epoch begins draws the masks that it would have drawn; within one it
// draws others and says so. The replacements are the stopped run's.
TEST_F(ReplaceOption, GoesOnWithAnEpochInTheSameBits) {
  ASSERT_EQ(run(kRun + "--out straight --checkpoint-every 12 --keep-checkpoints 9"), 0) << err_;
  const std::string whole = weights("straight"), said = "other masks";
  ASSERT_EQ(run(kRun + "--no-graph --out calls"), 0) << err_;
  EXPECT_TRUE(weights("calls") == whole);
  ASSERT_EQ(run("train --resume straight/checkpoints/step-000000024.safetensors --out epoch"), 0)
      << err_;
  EXPECT_TRUE(weights("epoch") == whole);
  EXPECT_EQ(err_.find(said), std::string::npos) << err_;
  ASSERT_EQ(run("train --resume straight/checkpoints/step-000000036.safetensors --out within"), 0)
      << err_;
  EXPECT_FALSE(weights("within") == whole);
  EXPECT_NE(err_.find(said), std::string::npos) << err_;
}

}  // namespace
}  // namespace annulus::test
