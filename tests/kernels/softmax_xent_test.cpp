// What the registry cannot show of the loss: numbers at the edge of fp32, ties, aliasing.
#include "kernels/softmax_xent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda.h"
#include "kernels/simt_host.h"

namespace annulus {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Outcome {
  float loss, hits;
  std::vector<float> gradient;
};

enum class Gradient { separate, in_place, none };

Outcome evaluate(int classes, const std::vector<float>& logits,
                 const std::vector<std::int32_t>& labels, float smoothing = 0,
                 Gradient gradient = Gradient::separate) {
  const Stream stream;
  const Buffer<float> x(logits), dx(logits.size()), result(2);
  const Buffer<float> workspace(softmax_xent_workspace(static_cast<int>(labels.size())));
  const Buffer<std::int32_t> y(labels);
  const Span<float> dlogits = gradient == Gradient::separate   ? dx.span()
                              : gradient == Gradient::in_place ? x.span()
                                                               : Span<float>{};
  softmax_xent(stream.get(), classes, x.cspan(), y.cspan(), smoothing, 1.f, dlogits, result.span(),
               workspace.span());
  stream.synchronize();
  const std::vector<float> sums = result.download();
  return {sums[0], sums[1], gradient == Gradient::in_place ? x.download() : dx.download()};
}

TEST(SoftmaxXent, HugeLogitsDoNotOverflow) {
  for (float smoothing : {0.f, 0.1f}) {
    const Outcome o = evaluate(3, {1e30f, 0, -1e30f, 88, 89, 90}, {0, 2}, smoothing);
    EXPECT_TRUE(std::isfinite(o.loss));
    EXPECT_EQ(o.hits, 2);
    for (float g : o.gradient) EXPECT_TRUE(std::isfinite(g));
  }
  EXPECT_EQ(evaluate(2, {3e38f, -3e38f}, {0}).loss, 0);
}

TEST(SoftmaxXent, NanInOneRowShowsInTheLoss) {
  for (float smoothing : {0.f, 0.1f}) {
    const Outcome o = evaluate(3, {1, 2, 3, 1, kNan, 3}, {2, 2}, smoothing);
    EXPECT_TRUE(std::isnan(o.loss));
    for (int c = 0; c < 3; ++c) {
      EXPECT_TRUE(std::isfinite(o.gradient[c])) << "the other row's gradient";
      EXPECT_TRUE(std::isnan(o.gradient[3 + c])) << "the row's own gradient";
    }
  }
}

TEST(SoftmaxXent, RowsWithoutANumberAreNanAndNoHit) {
  for (float logit : {kNan, kInfinity, -kInfinity}) {
    const Outcome o = evaluate(2, {logit, logit}, {1});
    EXPECT_TRUE(std::isnan(o.loss)) << logit;
    EXPECT_EQ(o.hits, 0) << logit;
  }
}

TEST(SoftmaxXent, AClassMayBeRuledOut) {
  const Outcome o = evaluate(3, {0, 0, -kInfinity}, {1});
  EXPECT_NEAR(o.loss, std::log(2.0), 1e-6);
  EXPECT_EQ(o.gradient[2], 0);
}

TEST(SoftmaxXent, TheFirstOfEqualLogitsIsThePrediction) {
  EXPECT_EQ(evaluate(4, {0, 7, 7, 7}, {1}).hits, 1);
  EXPECT_EQ(evaluate(4, {0, 7, 7, 7}, {2}).hits, 0);
  std::vector<float> many(70, 0.f);  // more classes than a warp has lanes
  many[33] = many[64] = many[40] = 1;
  EXPECT_EQ(evaluate(70, many, {33}).hits, 1);
  EXPECT_EQ(evaluate(70, many, {40}).hits, 0);
}

TEST(SoftmaxXent, TheGradientMayReplaceTheLogitsOrBeLeftOut) {
  std::vector<float> logits;
  for (int i = 0; i < 5 * 35; ++i) logits.push_back(std::sin(static_cast<float>(i)));
  const std::vector<std::int32_t> labels{0, 34, 7, 12, 33};
  const Outcome separate = evaluate(35, logits, labels, 0.1f);
  const Outcome in_place = evaluate(35, logits, labels, 0.1f, Gradient::in_place);
  const Outcome none = evaluate(35, logits, labels, 0.1f, Gradient::none);
  EXPECT_EQ(in_place.gradient, separate.gradient);
  EXPECT_EQ(in_place.loss, separate.loss);
  EXPECT_EQ(none.loss, separate.loss);
  EXPECT_EQ(none.hits, separate.hits);
}

// Two classes have one order of adding, so a difference could only come from the sum over rows.
TEST(SoftmaxXent, TheEmulatedKernelSumsRowsInTheSameOrder) {
  std::vector<float> logits;
  for (int i = 0; i < 2 * 700; ++i) logits.push_back(3 * std::sin(static_cast<float>(i)));
  const std::vector<std::int32_t> labels(700, 1);
  simt::use_cpu_forms(false);
  const Outcome emulated = evaluate(2, logits, labels, 0.1f);
  simt::use_cpu_forms(true);
  const Outcome o = evaluate(2, logits, labels, 0.1f);
  EXPECT_EQ(emulated.loss, o.loss);
  EXPECT_EQ(emulated.hits, o.hits);
}

TEST(SoftmaxXent, NoRowsGiveZero) {
  const Outcome o = evaluate(10, {}, {});
  EXPECT_EQ(o.loss, 0);
  EXPECT_EQ(o.hits, 0);
}

}  // namespace
}  // namespace annulus
