// How the loss's scale moves, and that a skipped step changes nothing: overflow halves it, good
// steps double it, within its bounds; every slice of the gradients counts.
#include "kernels/loss_scale.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernels/cuda.h"
#include "kernels/optimizer.h"
#include "kernels/softmax_xent.h"

namespace annulus {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class ScaledRun {
 public:
  explicit ScaledRun(LossScale start) : scale_(std::vector<LossScale>{start}) {}

  LossScale after(const std::vector<bool>& overflows, std::uint32_t growth_interval) {
    for (const bool overflow : overflows) {
      if (overflow) overflow_.upload({1});
      update_loss_scale(stream_.get(), scale_.span(), overflow_.span(), growth_interval);
      stream_.synchronize();
      EXPECT_EQ(overflow_.download()[0], 0u) << "the next step begins without";
    }
    return scale_.download()[0];
  }

 private:
  Stream stream_;
  Buffer<LossScale> scale_;
  Buffer<std::uint32_t> overflow_{std::vector<std::uint32_t>{0}};
};

TEST(LossScale, HalvesAtOverflowAndDoublesAfterGoodSteps) {
  ScaledRun run({1024, 0});
  EXPECT_EQ(run.after({false, false}, 3).factor, 1024);
  EXPECT_EQ(run.after({false}, 3).factor, 2048) << "the third good step";
  EXPECT_EQ(run.after({false, false, true}, 3).factor, 1024) << "an overflow before the third";
  EXPECT_EQ(run.after({false, false}, 3).factor, 1024) << "good steps count from the overflow";
  EXPECT_EQ(run.after({false}, 3).factor, 2048);
}

TEST(LossScale, GrowsAfterTwoThousandStepsUnlessToldOtherwise) {
  ScaledRun run({1024, 1998});
  EXPECT_EQ(run.after({false}, kLossScaleGrowthInterval).factor, 1024);
  EXPECT_EQ(run.after({false}, kLossScaleGrowthInterval).factor, 2048);
}

TEST(LossScale, StaysBetweenItsBounds) {
  EXPECT_EQ(ScaledRun({2, 0}).after({true, true, true}, 1).factor, kSmallestLossScale);
  EXPECT_EQ(ScaledRun({0x1p23f, 0}).after({false, false, false}, 1).factor, kLargestLossScale);
}

TEST(LossScale, OverflowInAnySliceIsSeenAndStays) {
  const Stream stream;
  const Buffer<LossScale> scale(std::vector<LossScale>{{4, 0}});
  for (const float bad : {kInfinity, -kInfinity, kNan}) {
    const Buffer<float> gradients(std::vector<float>{8, bad, -2, 1});
    const Buffer<std::uint32_t> overflow(std::vector<std::uint32_t>{0});
    for (const std::size_t begin : {0u, 2u})
      unscale_gradients(stream.get(), scale.cspan(), gradients.span().subspan(begin, 2),
                        overflow.span());
    stream.synchronize();
    EXPECT_EQ(overflow.download()[0], 1u) << bad;
    EXPECT_EQ(gradients.download()[0], 2);
    EXPECT_EQ(gradients.download()[3], 0.25f);
  }
}

TEST(LossScale, OptimizersSkipAStepThatOverflowed) {
  const Stream stream;
  const Buffer<StepState> state(std::vector<StepState>{
      {.seed = 1, .step = 0, .epoch = 0, .first_sample = 0, .learning_rate = 0.5f}});
  const Buffer<float> gradient(std::vector<float>{1}), decay(std::vector<float>{0});
  for (const std::uint32_t overflow : {0u, 1u}) {
    const Buffer<std::uint32_t> halts(std::vector<std::uint32_t>{0, overflow});
    const Buffer<float> p(std::vector<float>{1}), velocity(std::vector<float>{0});
    sgd_update(stream.get(), state.cspan(), halts.cspan(), 0.9f, false, p.span(), velocity.span(),
               gradient.cspan(), decay.cspan());
    stream.synchronize();
    EXPECT_EQ(p.download()[0], overflow ? 1 : 0.5f);
  }
}

// The factor is read when the loss runs, not when it is queued: a replayed graph sees the new one.
TEST(LossScale, TheLossReadsTheFactorFromTheDevice) {
  const Stream stream;
  Buffer<LossScale> scale(1);
  const Buffer<std::int32_t> labels(std::vector<std::int32_t>{0});
  const Buffer<float> logits(std::vector<float>{0, 0}), dlogits(2), result(2);
  const Buffer<float> workspace(softmax_xent_workspace(1));
  for (const float factor : {1.f, 64.f}) {
    scale.upload({{factor, 0}});
    softmax_xent(stream.get(), 2, logits.cspan(), labels.cspan(), 0, 1, dlogits.span(),
                 result.span(), workspace.span(), scale.cspan());
    stream.synchronize();
    EXPECT_EQ(dlogits.download(), (std::vector<float>{-0.5f * factor, 0.5f * factor}));
    EXPECT_NEAR(result.download()[0], 0.6931472f, 1e-6) << "the loss itself is not scaled";
  }
}

}  // namespace
}  // namespace annulus
