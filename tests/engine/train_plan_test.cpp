// What follows from a run's options, and from where it resumes: at the same global batch exactly
// what would have come, at another one every sample left once and the rest of the schedule.
#include "engine/train_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/checkpoint_interval.h"
#include "tests/data/data_files.h"

namespace annulus {
namespace {

const DataFacts kData{.samples = 1000, .checksum = "abc"};

TrainOptions options(int batch, int epochs = 4) {
  TrainOptions o{.model = "mlp", .batch_size = batch};
  o.recipe.epochs = epochs;
  return o;
}

// The state of a run after `updates` updates.
RunState state_after(const TrainPlan& plan, std::size_t updates) {
  RunState state = plan.start;
  const std::size_t steps = plan.batches.steps();
  state.updates = updates;
  state.epoch = static_cast<std::uint32_t>(updates / steps);
  state.samples = std::min(updates % steps * plan.batches.global_batch(), kData.samples);
  return state;
}

TEST(TrainPlan, ResumedAtTheSameGlobalBatchNothingChanges) {
  for (const bool drop_last : {false, true}) {
    TrainOptions o = options(64);
    o.drop_last = drop_last;
    const TrainPlan whole = plan_training(o, 1, kData);
    for (std::size_t updates = 0; updates <= whole.updates; ++updates) {
      const TrainPlan rest = plan_training(o, 1, kData, state_after(whole, updates));
      EXPECT_EQ(rest.updates, whole.updates);
      EXPECT_EQ(rest.epochs, whole.epochs);
      EXPECT_EQ(rest.first_epoch.steps(), whole.batches.steps() - updates % whole.batches.steps());
      EXPECT_EQ(rest.first_epoch.count(0), whole.batches.count(updates % whole.batches.steps()));
      for (std::size_t u = updates; u < whole.updates; ++u)
        EXPECT_EQ(rest.schedule.rate(u), whole.schedule.rate(u));
    }
  }
}

// Case C09: 4 ranks, then 2. Ten updates of 40 images are 400 of 1000.
TEST(TrainPlan, AnotherWorldSizeGoesOnFromTheSamplesSeen) {
  const TrainPlan four = plan_training(options(10), 4, kData);
  const TrainPlan two = plan_training(options(10), 2, kData, state_after(four, 10));
  EXPECT_EQ(two.first_epoch.first_sample(0), 400u);
  EXPECT_EQ(two.first_epoch.steps(), 30u);  // of 20 images
  EXPECT_EQ(two.updates, 10u + 30 + 3 * 50);
  EXPECT_EQ(two.epochs, 4u);
  EXPECT_DOUBLE_EQ(two.schedule.peak, four.schedule.peak / 2);
  EXPECT_NEAR(two.schedule.rate(10) / two.schedule.peak,
              four.schedule.rate(10) / four.schedule.peak,
              0.5 / 25 / 4 / 0.2);  // within half an update's rise
  EXPECT_LT(two.schedule.rate(two.updates - 1), 0.01 * two.schedule.peak);

  // Stopped again, it stays on its new course.
  RunState again = two.start;
  again.updates = 20;
  again.samples = 600;
  const TrainPlan rest = plan_training(options(10), 2, kData, again);
  EXPECT_EQ(rest.updates, two.updates);
  for (std::size_t u = 20; u < rest.updates; ++u)
    EXPECT_EQ(rest.schedule.rate(u), two.schedule.rate(u));
}

TEST(TrainPlan, ARateAsGivenIsRescaledToo) {
  TrainOptions o = options(10);
  o.learning_rate = 0.4;
  const TrainPlan four = plan_training(o, 4, kData);
  EXPECT_DOUBLE_EQ(four.schedule.peak, 0.4);
  const TrainPlan two = plan_training(o, 2, kData, state_after(four, 10));
  EXPECT_DOUBLE_EQ(two.schedule.peak, 0.2);
  RunState back = two.start;
  back.updates = 20;
  back.samples = 600;
  EXPECT_DOUBLE_EQ(plan_training(o, 4, kData, back).schedule.peak, 0.4);
  o.recipe.optimizer = "adam";
  const TrainPlan adam = plan_training(o, 4, kData);
  EXPECT_DOUBLE_EQ(plan_training(o, 2, kData, state_after(adam, 10)).schedule.peak, 0.4);
}

TEST(TrainPlan, MoreEpochsThanBeforeGoOn) {
  const TrainPlan first = plan_training(options(50, 2), 1, kData);
  const TrainPlan more = plan_training(options(50, 3), 1, kData, state_after(first, 40));
  EXPECT_EQ(more.updates, 60u);
  EXPECT_EQ(more.schedule.rate(40), plan_training(options(50, 3), 1, kData).schedule.rate(40));
}

TEST(TrainPlan, AnotherRunIsNotResumed) {
  const RunState state = state_after(plan_training(options(50), 1, kData), 10);
  const auto error = [&](const TrainOptions& o, const DataFacts& data) {
    try {
      plan_training(o, 1, data, state);
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), ExitCode::usage);
      return std::string(e.what());
    }
    return std::string("no error");
  };
  TrainOptions seed = options(50), model = options(50), optimizer = options(50);
  seed.seed = 7;
  model.model = "seed-cnn";
  optimizer.recipe.optimizer = "adam";
  EXPECT_TRUE(test::says(error(seed, kData), "--seed is 1, but this run's is 7"));
  EXPECT_TRUE(test::says(error(model, kData), "--model is mlp, but this run's is seed-cnn"));
  EXPECT_TRUE(test::says(error(optimizer, kData), "--optimizer is sgd"));
  EXPECT_TRUE(test::says(error(options(50), {1000, "other"}), "--data"));
}

TEST(TrainPlan, ACheckpointBeyondTheDataIsDamaged) {
  RunState state = state_after(plan_training(options(50), 1, kData), 10);
  state.samples = kData.samples + 1;
  EXPECT_THROW(plan_training(options(50), 1, kData, state), UserError);
}

TEST(CheckpointInterval, HasThreeUnits) {
  EXPECT_EQ(parse_checkpoint_interval("500").steps, 500u);
  EXPECT_EQ(parse_checkpoint_interval("1steps").steps, 1u);
  EXPECT_EQ(parse_checkpoint_interval("2epochs").epochs, 2u);
  EXPECT_DOUBLE_EQ(parse_checkpoint_interval("0.5min").time.count(), 30);
  EXPECT_EQ(parse_checkpoint_interval("never").steps, 0u);
  for (const char* wrong : {"", "0", "1.5", "-3", "5x", "min", "1e99", "nan", "1epoch "})
    EXPECT_THROW(parse_checkpoint_interval(wrong), UserError) << wrong;
}

}  // namespace
}  // namespace annulus
