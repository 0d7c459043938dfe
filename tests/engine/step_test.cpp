// What data-parallel means: one rank, N virtual ranks and a short last batch are one experiment.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/model/builder.h"
#include "engine/model/models.h"
#include "tests/engine/tiny_training.h"

namespace annulus {
namespace {

constexpr ImageShape kImage{8, 8, 3};

// Convolution, pooling and dropout, but no BatchNorm: its statistics are per rank by definition.
Model without_batch_norm() {
  ModelBuilder m(kImage);
  m.conv({.filters = 8, .kernel = 3, .padding = 1}).relu().max_pool().dropout(0.3f);
  m.flatten().dense(16).relu().dropout(0.3f).dense(5);
  return m.build("plain");
}

Model with_batch_norm() { return seed_cnn({.image = kImage, .classes = 5}); }

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(double(a[i]) - double(b[i])));
  return largest;
}

TEST(Step, RanksAndBatchAreOneExperiment) {
  const Dataset data = random_dataset(64, kImage, 5);
  TinyTraining one(without_batch_norm(), data, {.samples = 64, .ranks = 1, .batch_per_rank = 16});
  one.run(5, 0.05f);
  for (const int ranks : {2, 4, 16}) {
    TinyTraining many(without_batch_norm(), data,
                      {.samples = 64, .ranks = ranks, .batch_per_rank = 16 / ranks});
    many.run(5, 0.05f);
    EXPECT_LT(largest_difference(one.parameters(), many.parameters()), 1e-6) << ranks << " ranks";
    for (std::size_t s = 0; s < 5; ++s) {
      EXPECT_NEAR(one.results()[s].loss, many.results()[s].loss, 1e-6);
      EXPECT_EQ(one.results()[s].accuracy, many.results()[s].accuracy);
    }
  }
}

// 13 samples on 3 ranks of 4: the second step has one sample; two ranks have none and add zeros.
TEST(Step, ShortLastBatchWeighsEverySampleOnce) {
  const Dataset data = random_dataset(13, kImage, 5);
  TinyTraining one(without_batch_norm(), data, {.samples = 13, .ranks = 1, .batch_per_rank = 12});
  TinyTraining three(without_batch_norm(), data, {.samples = 13, .ranks = 3, .batch_per_rank = 4});
  one.run(4, 0.05f);
  three.run(4, 0.05f);
  ASSERT_EQ(three.results().size(), 4u);
  EXPECT_EQ(three.results()[0].samples, 12u);
  EXPECT_EQ(three.results()[1].samples, 1u);
  // The gradient of a single sample is large, and so is its rounding.
  EXPECT_LT(largest_difference(one.parameters(), three.parameters()), 5e-6);
}

TEST(Step, DropLastLeavesTheTailOut) {
  const Dataset data = random_dataset(13, kImage, 5);
  TinyTraining run(without_batch_norm(), data,
                   {.samples = 13, .ranks = 3, .batch_per_rank = 4, .drop_last = true});
  run.run(3, 0.05f);
  for (const StepResult& result : run.results()) EXPECT_EQ(result.samples, 12u);
}

TEST(Step, RingOrderAddsTheSameNumbersInAnotherOrder) {
  const Dataset data = random_dataset(48, kImage, 5);
  const Batches batches{.samples = 48, .ranks = 6, .batch_per_rank = 4};
  TinyTraining rank(with_batch_norm(), data, batches, {.order = SumOrder::rank});
  TinyTraining ring(with_batch_norm(), data, batches, {.order = SumOrder::ring});
  rank.run(2, 0.05f);
  ring.run(2, 0.05f);
  EXPECT_LT(largest_difference(rank.parameters(), ring.parameters()), 1e-5);
  EXPECT_NE(0, std::memcmp(rank.parameters().data(), ring.parameters().data(),
                           rank.parameters().size() * sizeof(float)));
}

// Each rank normalises with its own statistics; the running ones are the average over the ranks,
// weighted by samples.
TEST(Step, RunningStatisticsAverageOverRanks) {
  const Dataset data = random_dataset(8, kImage, 5);
  const auto first_layer_only = [] {
    ModelBuilder m(kImage);
    m.batch_norm().relu().dense(5);
    return m.build("bn");
  };
  TinyTraining both(first_layer_only(), data, {.samples = 8, .ranks = 2, .batch_per_rank = 4},
                    {.recipe = {.flip = false, .translate = 0}});
  both.run(1, 0.f);

  const std::vector<std::uint32_t> order = epoch_order(8, 9, 0);
  for (int c = 0; c < 3; ++c) {
    double mean = 0, variance = 0;
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<double> values;
      for (int i = 0; i < 4; ++i)
        for (std::size_t pixel = 0; pixel < 64; ++pixel)
          values.push_back((data.images[(order[rank * 4 + i] * 64 + pixel) * 3 + c] - 128.0) /
                           64.0);
      double m = 0, v = 0;
      for (double x : values) m += x / double(values.size());
      for (double x : values) v += (x - m) * (x - m) / double(values.size() - 1);
      mean += m / 2;
      variance += v / 2;
    }
    EXPECT_NEAR(both.running()[c], 0.1 * mean, 1e-6);
    EXPECT_NEAR(both.running()[3 + c], 0.9 + 0.1 * variance, 1e-5);
  }
}

TEST(Step, SameSeedSameBitsTwice) {
  const Dataset data = random_dataset(40, kImage, 5);
  const Batches batches{.samples = 40, .ranks = 3, .batch_per_rank = 4};
  TinyTraining first(with_batch_norm(), data, batches), second(with_batch_norm(), data, batches);
  first.run(6, 0.05f);
  second.run(6, 0.05f);
  EXPECT_EQ(first.parameters(), second.parameters());
  EXPECT_EQ(first.running(), second.running());
}

TEST(Step, TrainsEveryOptimizer) {
  const Dataset data = random_dataset(16, kImage, 5);
  for (const char* optimizer : {"sgd", "adam", "adamw"}) {
    TinyTraining run(
        without_batch_norm(), data, {.samples = 16, .ranks = 1, .batch_per_rank = 16},
        {.recipe = {.optimizer = optimizer, .label_smoothing = 0, .flip = false, .translate = 0}});
    run.run(60, optimizer == std::string("sgd") ? 0.05f : 0.005f);
    EXPECT_LT(run.results().back().loss, 0.6 * run.results().front().loss) << optimizer;
  }
}

}  // namespace
}  // namespace annulus
