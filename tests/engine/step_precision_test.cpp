// Training in TF32, bf16 and fp16: the loss stays by that of fp32, one graph or single calls and
// virtual ranks give the same bits, and fp16 skips whole steps where a gradient overflows.
#include "engine/precision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "data/synthetic.h"
#include "engine/evaluate.h"
#include "engine/model/builder.h"
#include "engine/model/models.h"
#include "kernels/check.h"
#include "tests/engine/no_reports.h"
#include "tests/engine/tiny_training.h"

namespace annulus {

static void PrintTo(const Precision& precision, std::ostream* out) { *out << precision.name; }

namespace {

constexpr ImageShape kImage{8, 8, 3};
const Batches kOneRank{.samples = 27, .ranks = 1, .batch_per_rank = 12};

Model small_model() { return seed_cnn({.image = kImage, .classes = 5}); }

class Precisions : public test::NoReports<testing::TestWithParam<Precision>> {};

INSTANTIATE_TEST_SUITE_P(Of, Precisions, testing::Values(kTf32, kBf16, kFp16),
                         [](const auto& info) { return std::string(info.param.name); });

// The mean of the last quarter of 200 steps: a single batch's loss tells more of the batch.
double loss_after_200_steps(const Precision& precision) {
  constexpr std::size_t kSteps = 200, kLast = 50;
  const Dataset data = synthetic_images(3, 0, 3200);
  TinyTraining training(resnet8({}), data, {.samples = 3200, .ranks = 1, .batch_per_rank = 32},
                        {.precision = precision});
  training.run(kSteps, 0.02f);
  double sum = 0;
  for (std::size_t s = kSteps - kLast; s < kSteps; ++s) sum += training.results()[s].loss;
  return sum / kLast;
}

TEST_P(Precisions, LossAfter200StepsIsWithinTwoPercentOfFp32) {
  static const double fp32 = loss_after_200_steps(kFp32);
  const double loss = loss_after_200_steps(GetParam());
  EXPECT_LT(fp32, 1.2) << "nothing was learned";
  EXPECT_NEAR(loss / fp32, 1, 0.02) << loss << ", fp32 " << fp32;
}

TEST_P(Precisions, OneGraphGivesTheBitsOfSingleCalls) {
  const Dataset data = random_dataset(kOneRank.samples, kImage, 5);
  TinyOptions options{.bucket_floats = 4096, .precision = GetParam()};
  TinyTraining graphs(small_model(), data, kOneRank, options);
  options.graph = false;
  TinyTraining calls(small_model(), data, kOneRank, options);
  graphs.run(14, 0.05f);
  calls.run(14, 0.05f);
  EXPECT_EQ(graphs.parameters(), calls.parameters());
  EXPECT_EQ(graphs.running(), calls.running());
}

// Weights, gradients and statistics are fp32 and differ from those of an fp32 run, but not by much.
TEST_P(Precisions, AFirstUpdateIsNearThatOfFp32) {
  const Dataset data = random_dataset(kOneRank.samples, kImage, 5);
  TinyTraining rounded(small_model(), data, kOneRank, {.precision = GetParam()});
  TinyTraining exact(small_model(), data, kOneRank);
  rounded.run(1, 0.05f);
  exact.run(1, 0.05f);
  EXPECT_NE(rounded.parameters(), exact.parameters());
  const auto near = [&](const std::vector<float>& a, const std::vector<float>& b) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference += std::pow(double(a[i]) - b[i], 2);
      size += std::pow(double(b[i]), 2);
    }
    EXPECT_LT(std::sqrt(difference / size), GetParam().element == Element::bf16 ? 0.03 : 0.01);
  };
  near(rounded.parameters(), exact.parameters());
  near(rounded.running(), exact.running());
}

// Of models whose only layer with weights it is.
TEST_P(Precisions, ConvolutionsAndProductsAreBothRounded) {
  const auto convolution = [] {
    return ModelBuilder(kImage)
        .conv({.filters = 5, .kernel = 3, .padding = 1})
        .global_average_pool()
        .build("convolution");
  };
  const auto product = [] { return ModelBuilder(kImage).flatten().dense(5).build("product"); };
  const Dataset data = random_dataset(kOneRank.samples, kImage, 5);
  for (const std::function<Model()>& model : {std::function<Model()>(convolution), {product}}) {
    TinyTraining rounded(model(), data, kOneRank, {.precision = GetParam()});
    TinyTraining exact(model(), data, kOneRank);
    rounded.run(1, 0.05f);
    exact.run(1, 0.05f);
    EXPECT_NE(rounded.results()[0].loss, exact.results()[0].loss) << rounded.model().name();
    EXPECT_NEAR(rounded.results()[0].loss, exact.results()[0].loss, 0.05);
  }
}

TEST_P(Precisions, EvaluationAgreesWithFp32) {
  const Dataset data = random_dataset(27, kImage, 5);
  TinyTraining training(small_model(), data, kOneRank, {.precision = GetParam()});
  training.run(6, 0.05f);
  const ResidentData test(data, kTinyMean, kTinyStd);
  const auto evaluate = [&](const Precision& precision) {
    return Evaluator(training.model(), training.device(), test, 10, precision)
        .run(training.weights());
  };
  EXPECT_NEAR(evaluate(GetParam()).loss, evaluate(kFp32).loss, 0.02);
}

// fp16 starts at a scale at which gradients overflow: whole steps are skipped until it has come
// down, then training goes on.
TEST(LossScaling, SkipsWholeStepsUntilGradientsFit) {
  const Dataset data = random_dataset(kOneRank.samples, kImage, 5);
  TinyTraining training(
      small_model(), data, kOneRank,
      {.bucket_floats = 4096, .precision = kFp16, .loss_scale = {kLargestLossScale, 0}});
  const std::vector<float> before = training.parameters();
  training.run(1, 0.05f);
  ASSERT_TRUE(training.results()[0].loss_scale);
  ASSERT_EQ(training.results()[0].loss_scale->skipped, 1u);
  EXPECT_EQ(training.results()[0].loss_scale->factor, kLargestLossScale / 2);
  EXPECT_EQ(training.parameters(), before) << "no bucket of a skipped step is applied";
  training.run(29, 0.05f);
  const LossScale last = *training.results().back().loss_scale;
  EXPECT_LT(last.skipped, 20u);
  EXPECT_EQ(last.factor, std::ldexp(kLargestLossScale, -int(last.skipped)));
  EXPECT_GT(last.good_steps, 5u) << "it has come down and stays";
  EXPECT_NE(training.parameters(), before);
  for (const float value : training.parameters()) ASSERT_TRUE(std::isfinite(value));
}

// Scales are powers of two: where nothing overflows or vanishes they change no bit.
TEST(LossScaling, ChangesHardlyABitWhereNothingOverflowsOrVanishes) {
  const Dataset data = random_dataset(kOneRank.samples, kImage, 5);
  std::vector<float> weights;
  for (const float factor : {0x1p10f, 0x1p11f}) {
    TinyTraining training(
        mlp({.image = kImage, .classes = 5}), data, kOneRank,
        {.recipe = {.label_smoothing = 0}, .precision = kFp16, .loss_scale = {factor, 0}});
    training.run(2, 0.01f);
    if (weights.empty()) weights = training.parameters();
    const std::vector<float> other = training.parameters();
    std::size_t equal = 0;
    for (std::size_t i = 0; i < other.size(); ++i) equal += other[i] == weights[i];
    EXPECT_GT(double(equal), 0.99 * double(other.size())) << "all but the smallest gradients";
  }
}

TEST(Evaluations, ThatPassFp16sRangeSaySo) {
  const Evaluation bad{.loss = NAN}, good{.loss = 1};
  EXPECT_NE(overflow_note(bad, kFp16).find("65504"), std::string::npos);
  EXPECT_EQ(overflow_note(good, kFp16) + overflow_note(bad, kBf16), "");
}

TEST(Precision, IsUnderstoodByName) {
  EXPECT_EQ(parse_precision("bf16").element, Element::bf16);
  EXPECT_TRUE(parse_precision("tf32").reduced_inputs);
  try {
    parse_precision("half");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_STREQ(error.what(),
                 "--precision half: there is no such precision; one of: fp32, tf32, bf16, fp16");
  }
}

TEST(Precision, Bf16NeedsCapabilityEight) {
  cudaDeviceProp volta{}, ampere{};
  std::strcpy(volta.name, "Tesla V100");
  volta.major = 7;
  ampere.major = 8;
  for (const Precision& precision : {kFp32, kTf32, kFp16}) require_precision(precision, volta);
  for (const Precision& precision : kPrecisions) require_precision(precision, ampere);
  try {
    require_precision(kBf16, volta);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::device);
    EXPECT_STREQ(error.what(),
                 "--precision bf16: Tesla V100 has compute capability 7.0, and bf16 begins with "
                 "8.0; use --precision fp16");
  }
}

}  // namespace
}  // namespace annulus
