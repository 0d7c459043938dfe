// What readers see of a run while it trains: means of the epoch so far, and numbers that fit
// together whenever they are read.
#include "engine/live_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/step.h"
#include "engine/train_plan.h"

namespace annulus {
namespace {

StepResult result_of(std::uint32_t epoch, std::size_t update, double loss, double accuracy) {
  StepResult result;
  result.epoch = epoch;
  result.update = update;
  result.samples = 10;
  result.loss = loss;
  result.accuracy = accuracy;
  return result;
}

StepTimes times_of(double milliseconds) {
  StepTimes times;
  times.buckets = {{.ready = 0, .started = 0, .ended = 0, .update = {0, milliseconds}}};
  return times;
}

TrainPlan plan_of(std::size_t done, std::size_t updates) {
  TrainPlan plan;
  plan.start.updates = done;
  plan.start.epoch = 2;
  plan.updates = updates;
  plan.epochs = 4;
  return plan;
}

TEST(LiveRun, IsReadyOnceItIsAtTheDoor) {
  LiveRun live;
  EXPECT_FALSE(live.snapshot().ready());
  live.is_rank(1, 3, 0.25);
  EXPECT_FALSE(live.snapshot().ready());
  live.at_the_door();
  const RunSnapshot run = live.snapshot();
  EXPECT_TRUE(run.ready());
  EXPECT_EQ(run.rank, 1);
  EXPECT_EQ(run.ranks, 3);
  EXPECT_EQ(run.discovery_seconds, 0.25);
  EXPECT_FALSE(run.loss);
}

TEST(LiveRun, MeansAreOfTheEpochUnderWay) {
  LiveRun live;
  live.training_begins("mlp", plan_of(100, 200));
  EXPECT_EQ(live.snapshot().updates, 100u);
  EXPECT_EQ(live.snapshot().epochs, 2u);
  live.step_done(result_of(2, 100, 3, 0.1), times_of(2));
  live.step_done(result_of(2, 101, 1, 0.3), times_of(20));
  RunSnapshot run = live.snapshot();
  EXPECT_DOUBLE_EQ(*run.loss, 2);
  EXPECT_DOUBLE_EQ(*run.accuracy, 0.2);
  EXPECT_EQ(run.updates, 102u);
  EXPECT_EQ(run.images, 20u);
  EXPECT_EQ(run.steps, 2u);
  EXPECT_DOUBLE_EQ(run.step_seconds, 0.022);
  EXPECT_EQ(run.steps_within[0], 0u);  // 1 ms
  EXPECT_EQ(run.steps_within[1], 1u);  // 2.5 ms
  EXPECT_EQ(run.steps_within[4], 2u);  // 25 ms
  EXPECT_GT(*run.images_per_second, 0);
  EXPECT_GE(*run.seconds_left, 0);

  EpochMetrics metrics;
  metrics.epoch = 3;
  metrics.loss = 1.9;
  metrics.accuracy = 0.25;
  metrics.samples = 20;
  metrics.train_seconds = 0.5;
  live.epoch_done(metrics);
  run = live.snapshot();
  EXPECT_DOUBLE_EQ(*run.loss, 1.9);
  EXPECT_DOUBLE_EQ(*run.images_per_second, 40);
  EXPECT_EQ(run.epochs, 3u);

  live.step_done(result_of(3, 102, 0.5, 0.9), times_of(2));
  run = live.snapshot();
  EXPECT_DOUBLE_EQ(*run.loss, 0.5);
  EXPECT_DOUBLE_EQ(run.last->loss, 1.9);
}

TEST(LiveRun, PeersAreCountedWhileSomebodyCounts) {
  LiveRun live;
  {
    const PeersCounted counted(live, [] { return 7; });
    EXPECT_EQ(live.snapshot().peers_alive, 7);
  }
  EXPECT_EQ(live.snapshot().peers_alive, 0);
}

// Under ThreadSanitizer this is the test of the lock.
TEST(LiveRun, ReadersSeeNumbersThatFitTogether) {
  LiveRun live;
  constexpr std::size_t kSteps = 20000;
  live.training_begins("mlp", plan_of(0, kSteps));
  std::atomic<bool> ended{false};
  std::thread trains([&] {
    for (std::size_t i = 0; i < kSteps; ++i)
      live.step_done(result_of(static_cast<std::uint32_t>(i / 100), i, 1, 1), times_of(1));
    ended = true;
  });
  std::size_t last = 0;
  while (!ended) {
    const RunSnapshot run = live.snapshot();
    ASSERT_EQ(run.updates, run.steps);
    ASSERT_EQ(run.images, 10 * run.steps);
    ASSERT_GE(run.updates, last);
    last = run.updates;
  }
  trains.join();
  EXPECT_EQ(live.snapshot().updates, kSteps);
}

}  // namespace
}  // namespace annulus
