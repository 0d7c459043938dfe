// --precision as the program takes it: refusals, what a run says of it, resuming fp16 with its loss
// scale, and what eval makes of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/engine/stopped_run.h"

namespace annulus::test {
namespace {

// 24 updates an epoch.
const std::string kRun = "train --data data --model mnist-cnn --batch-size 5 --epochs 2 ";

class PrecisionOption : public StoppedRun {
 protected:
  // The value behind `name` in a line of metrics on stdout.
  std::string said(const std::string& name) const {
    const std::size_t begin = out_.rfind(" " + name + "=");
    if (begin == std::string::npos) return "";
    const std::size_t value = begin + name.size() + 2;
    return out_.substr(value, out_.find_first_of(" \n", value) - value);
  }
};

TEST_F(PrecisionOption, OfAnotherNameIsRefusedInOneLine) {
  EXPECT_EQ(run("train --precision fp8"), 2);
  EXPECT_EQ(err_,
            "annulus: --precision fp8: there is no such precision; one of: fp32, tf32, bf16, "
            "fp16\n");
}

// The scale, and how long it has been good, are part of what a checkpoint holds.
TEST_F(PrecisionOption, Fp16GoesOnWithItsLossScale) {
  ASSERT_EQ(
      run(kRun + "--precision fp16 --out straight --checkpoint-every 12 --keep-checkpoints 9"), 0)
      << err_;
  EXPECT_EQ(std::stod(said("loss_scale")), metrics("straight").back().at("loss_scale"));
  EXPECT_EQ(said("skipped"), metrics("straight").back().at("skipped_updates").dump());
  for (const char* update : {"12", "24", "36"}) {
    const std::string name = std::string("from") + update;
    ASSERT_EQ(run("train --resume straight/checkpoints/step-0000000" + std::string(update) +
                  ".safetensors --out " + name),
              0)
        << err_;
    EXPECT_TRUE(weights(name) == weights("straight")) << name;
  }
  ASSERT_EQ(run(kRun + "--precision fp16 --no-graph --out calls"), 0) << err_;
  EXPECT_TRUE(weights("calls") == weights("straight"));
  ASSERT_EQ(run("train --config straight/config.json --out again"), 0) << err_;
  EXPECT_TRUE(weights("again") == weights("straight"));
}

TEST_F(PrecisionOption, OnRanksGivesTheBitsOfVirtualRanks) {
  for (const std::string precision : {"bf16", "fp16"}) {
    const auto trained = [&](const std::string& ranks) {
      EXPECT_EQ(run(fmt::format("{}--precision {} --max-steps 6 {} 2 --out {}{}", kRun, precision,
                                ranks, precision, ranks)),
                0)
          << err_;
      return weights(precision + ranks);
    };
    EXPECT_TRUE(trained("--ranks") == trained("--virtual-ranks")) << precision;
  }
}

TEST_F(PrecisionOption, EvalTakesTheRunsUnlessToldOtherwise) {
  ASSERT_EQ(run(kRun + "--precision bf16 --out run"), 0) << err_;
  const std::string trained = said("val_loss");
  ASSERT_EQ(run("eval --weights run"), 0) << err_;
  EXPECT_EQ(said("val_loss"), trained);
  ASSERT_EQ(run("eval --weights run --precision fp32"), 0) << err_;
  EXPECT_NE(said("val_loss"), trained);
  EXPECT_NEAR(std::stod(said("val_loss")), std::stod(trained), 0.02);
  std::ofstream(path("run") / "config.json") << R"({"precision": 16})";
  EXPECT_EQ(run("eval --weights run --data data"), 3);
  EXPECT_NE(err_.find("config.json: does not say in which precision its run trained"),
            std::string::npos)
      << err_;
}

}  // namespace
}  // namespace annulus::test
