// One graph a step: the same bits as call by call, the same stamps, and what goes wrong in a
// captured step is named as it would be outside.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/model/models.h"
#include "kernels/cpu/cudart/reports.h"
#include "tests/engine/no_reports.h"
#include "tests/engine/tiny_training.h"

namespace annulus {

static void PrintTo(const Batches& batches, std::ostream* out) {
  *out << batches.samples << " samples in " << batches.ranks << " x " << batches.batch_per_rank;
}

namespace {

constexpr ImageShape kImage{8, 8, 3};
constexpr std::size_t kUpdates = 14;  // each slot's graph is captured and launched again

Model small_model() { return seed_cnn({.image = kImage, .classes = 5}); }

// Two full steps of 12 and a short one of 3: one each, with three ranks.
const Batches kOneRank{.samples = 27, .ranks = 1, .batch_per_rank = 12};
const Batches kVirtualRanks{.samples = 27, .ranks = 3, .batch_per_rank = 4};
// Two full steps of 24 and one of 4: two of the six ranks have none.
const Batches kSomeWithoutImages{.samples = 52, .ranks = 6, .batch_per_rank = 4};

class StepGraph : public test::NoReports<testing::TestWithParam<Batches>> {};

INSTANTIATE_TEST_SUITE_P(Steps, StepGraph,
                         testing::Values(kOneRank, kVirtualRanks, kSomeWithoutImages));

TEST_P(StepGraph, TheBitsAreThoseOfTheCallsOneByOne) {
  const Dataset data = random_dataset(GetParam().samples, kImage, 5);
  TinyOptions options{.recipe = {.optimizer = "adamw"}, .bucket_floats = 4096};
  TinyTraining graphs(small_model(), data, GetParam(), options);
  options.graph = false;
  TinyTraining calls(small_model(), data, GetParam(), options);
  for (const float rate : {0.05f, 0.02f}) {  // read anew by each launch, as is the step's number
    graphs.run(kUpdates, rate);
    calls.run(kUpdates, rate);
  }
  EXPECT_EQ(graphs.parameters(), calls.parameters());
  EXPECT_EQ(graphs.running(), calls.running());
  ASSERT_EQ(graphs.results().size(), calls.results().size());
  for (std::size_t s = 0; s < graphs.results().size(); ++s) {
    const StepResult &launched = graphs.results()[s], &queued = calls.results()[s];
    EXPECT_EQ(launched.loss, queued.loss) << "step " << s;
    EXPECT_EQ(launched.accuracy, queued.accuracy) << "step " << s;
    EXPECT_EQ(launched.samples, queued.samples) << "step " << s;
    EXPECT_EQ(launched.epoch, queued.epoch) << "step " << s;
  }
}

// Also where the slot's last step had another shape.
TEST_P(StepGraph, EachLaunchStampsItsOwnStep) {
  const Dataset data = random_dataset(GetParam().samples, kImage, 5);
  TinyTraining run(small_model(), data, GetParam(), {.bucket_floats = 4096});
  run.run(2 * kUpdates, 0.05f);
  double last_end = 0;
  for (std::size_t s = 0; s < run.times().size(); ++s) {
    const StepTimes& times = run.times()[s];
    SCOPED_TRACE(testing::Message() << "step " << s);
    EXPECT_EQ(times.update, s);
    EXPECT_GE(times.begin, last_end);
    last_end = times.begin + times.end();
    const bool last_rank_has_images = run.results()[s].samples >= std::size_t(GetParam().ranks);
    const std::size_t layers = run.model().nodes().size();
    ASSERT_EQ(times.calls.size(), last_rank_has_images ? 2 * layers : 0);
    double before = 0;
    for (std::size_t i = 0; i < times.calls.size(); ++i) {
      const std::size_t layer = i < layers ? i : 2 * layers - 1 - i;
      EXPECT_EQ(times.calls[i].name, run.model().nodes()[layer].layer->name());
      EXPECT_GE(times.calls[i].time.begin, before);
      EXPECT_GT(times.calls[i].time.end, times.calls[i].time.begin);
      before = times.calls[i].time.end;
    }
    for (const BucketTimes& bucket : times.buckets) {
      EXPECT_GT(bucket.ready, 0);
      EXPECT_GE(bucket.started, bucket.ready);
      EXPECT_GE(bucket.ended, bucket.started);
      EXPECT_GE(bucket.update.begin, bucket.ended);
      EXPECT_GT(bucket.update.end, bucket.update.begin);
    }
  }
}

// The loss of the step after the broken one is not finite: the device keeps its weights, and the
// replay finds the layer.
TEST_P(StepGraph, NothingChangesFromALossThatIsNotFiniteOn) {
  const Dataset data = random_dataset(GetParam().samples, kImage, 5);
  TinyTraining run(small_model(), data, GetParam());
  run.run(kUpdates, 0.05f);
  std::vector<float> broken = run.parameters();  // the last layer's first
  broken.front() = std::numeric_limits<float>::infinity();
  run.weights().parameters.upload(broken);
  run.run(6, 0.05f);
  const StepResult& first = run.results()[kUpdates];
  EXPECT_FALSE(std::isfinite(first.loss));
  EXPECT_EQ(run.parameters(), broken);
  EXPECT_EQ(run.step().find_not_finite(first), "dense2.weight");
}

}  // namespace
}  // namespace annulus
