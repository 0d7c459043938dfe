// One rank with a real communicator: its collectives are captured into the step's graph, and the
// step ends in the bits of a step without a communicator. What a single GPU can show of NCCL.
#include <gtest/gtest.h>

#include "comm/communicator.h"
#include "engine/model/models.h"
#include "tests/comm/control_ranks.h"
#include "tests/engine/tiny_training.h"

namespace annulus {
namespace {

constexpr ImageShape kImage{8, 8, 3};
const Batches kBatches{.samples = 27, .ranks = 1, .batch_per_rank = 12};  // the last one is short
constexpr std::size_t kUpdates = 14;

std::vector<float> train(Communicator* communicator, bool graph) {
  TinyTraining run(seed_cnn({.image = kImage, .classes = 5}), random_dataset(27, kImage, 5),
                   kBatches, {.communicator = communicator, .bucket_floats = 4096, .graph = graph});
  run.run(kUpdates, 0.05f);
  return run.parameters();
}

TEST(OneRank, CollectivesInAGraphAndOutsideGiveTheBitsOfNone) {
  const std::vector<float> alone = train(nullptr, false);
  for (const bool graph : {false, true}) {
    test::Ranks ranks(1);
    ranks.each([&](int rank) {
      const auto control = ranks.join(rank);
      {
        Communicator communicator(rank, 1, *control, ranks.options());
        EXPECT_EQ(train(&communicator, graph), alone) << (graph ? "one graph a step" : "calls");
      }
      control->leave(ExitCode::done, "");
    });
  }
}

}  // namespace
}  // namespace annulus
