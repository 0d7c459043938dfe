// --replace: what it understands, and training with cuDNN's BatchNorm and Dropout in place of ours.
#include "engine/replacements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/model/models.h"
#include "engine/train_plan.h"
#include "kernels/check.h"
#include "tests/engine/no_reports.h"
#include "tests/engine/tiny_run.h"
#include "tests/engine/tiny_training.h"

namespace annulus {
namespace {

constexpr ImageShape kImage{8, 8, 3};
constexpr Replacements kBatchNorm{.batchnorm = true}, kBoth{.batchnorm = true, .dropout = true};

Model small_model(Replacements replacements, float dropout_scale = 1) {
  return seed_cnn({.image = kImage,
                   .classes = 5,
                   .dropout_scale = dropout_scale,
                   .replacements = replacements});
}

// What the call is refused with; empty: it is not.
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
    return "";
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
}

TEST(Replacements, AreUnderstood) {
  EXPECT_EQ(parse_replacements("none"), Replacements{});
  EXPECT_EQ(parse_replacements("batchnorm=cudnn"), kBatchNorm);
  EXPECT_EQ(parse_replacements("dropout=cudnn,batchnorm=cudnn"), kBoth);
}

TEST(Replacements, OfAnythingElseAreRefusedWithWhatCanBe) {
  for (const char* text : {"", "softmax=cudnn", "batchnorm", "batchnorm=ours", "dropout=cudnn,",
                           "batchnorm=cudnn;dropout=cudnn"}) {
    const std::string words = refusal([&] { parse_replacements(text); });
    EXPECT_NE(words.find("batchnorm=cudnn, dropout=cudnn"), std::string::npos) << text;
    EXPECT_EQ(words.find('\n'), std::string::npos) << text;
  }
}

TEST(Replacements, OfABatchNormOverAllRanksAreRefused) {
  TrainOptions options;
  options.sync_batchnorm = true;
  options.replace = "dropout=cudnn";
  EXPECT_EQ(refusal([&] { check_options(options); }), "");
  options.replace = "batchnorm=cudnn";
  const std::string words = refusal([&] { check_options(options); });
  EXPECT_NE(words.find("--sync-batchnorm with --replace batchnorm=cudnn"), std::string::npos)
      << words;
}

class Replaced : public test::NoReports<testing::Test> {};

void expect_near(const std::vector<float>& got, const std::vector<float>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(double(got[i]), double(want[i]), tolerance * (1 + std::abs(double(want[i])))) << i;
}

// The activation and the pool that ours fuse are layers of their own behind cuDNN's.
TEST_F(Replaced, GradientsAreThoseOfOurBatchNorm) {
  TinyRun ours(small_model({}, 0), 6), cudnns(small_model(kBatchNorm, 0), 6);
  EXPECT_NE(ours.model().nodes().size(), cudnns.model().nodes().size());
  expect_near(cudnns.gradients(), ours.gradients(), 1e-4);
}

// Of three ranks that have unlike numbers of images.
TEST_F(Replaced, RunningStatisticsAreThoseOfOurBatchNorm) {
  const Batches batches{.samples = 28, .ranks = 3, .batch_per_rank = 4};
  const Dataset data = random_dataset(batches.samples, kImage, 5);
  TinyTraining ours(small_model({}, 0), data, batches);
  TinyTraining cudnns(small_model(kBatchNorm, 0), data, batches);
  for (TinyTraining* run : {&ours, &cudnns}) run->run(3, 0.01f);
  expect_near(cudnns.running(), ours.running(), 1e-4);
  expect_near(cudnns.parameters(), ours.parameters(), 1e-3);
}

const Batches kBatches{.samples = 27, .ranks = 1, .batch_per_rank = 12};

double mean_loss(const TinyTraining& run, std::size_t first, std::size_t count) {
  const auto begin = run.results().begin() + std::ptrdiff_t(first);
  return std::accumulate(begin, begin + std::ptrdiff_t(count), 0.0,
                         [](double sum, const StepResult& r) { return sum + r.loss; }) /
         double(count);
}

TEST_F(Replaced, TheLossFalls) {
  const Dataset data = random_dataset(kBatches.samples, kImage, 5);
  const Recipe plain{.optimizer = "adamw", .label_smoothing = 0, .flip = false, .translate = 0};
  TinyTraining run(small_model(kBoth, 0.5f), data, kBatches, {.recipe = plain});
  run.run(60, 0.003f);
  EXPECT_LT(mean_loss(run, 48, 12), 0.6 * mean_loss(run, 0, 12));
}

// Dropout's states lie on the device: a graph moves them on as the calls do.
TEST_F(Replaced, AGraphHasTheBitsOfTheCallsOneByOne) {
  const Dataset data = random_dataset(kBatches.samples, kImage, 5);
  TinyOptions options{.bucket_floats = 4096};
  TinyTraining graphs(small_model(kBoth), data, kBatches, options);
  options.graph = false;
  TinyTraining calls(small_model(kBoth), data, kBatches, options);
  for (TinyTraining* run : {&graphs, &calls}) run->run(14, 0.02f);
  EXPECT_EQ(graphs.parameters(), calls.parameters());
  EXPECT_EQ(graphs.running(), calls.running());
}

// The weights stay as they are, so that the masks alone change the loss of one and the same batch.
TEST_F(Replaced, StepsDrawOtherMasksAndASeedTheSameOnes) {
  const Batches one_step{.samples = 12, .ranks = 1, .batch_per_rank = 12};
  const Dataset data = random_dataset(one_step.samples, kImage, 5);
  TinyTraining run(small_model({.dropout = true}), data, one_step,
                   {.recipe = {.flip = false, .translate = 0}});
  run.run(2, 0);
  EXPECT_NE(run.results()[0].loss, run.results()[1].loss);
  TinyTraining again(small_model({.dropout = true}), data, one_step,
                     {.recipe = {.flip = false, .translate = 0}});
  again.run(2, 0);
  for (std::size_t step = 0; step < 2; ++step)
    EXPECT_EQ(again.results()[step].loss, run.results()[step].loss);
}

}  // namespace
}  // namespace annulus
