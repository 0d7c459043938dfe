// The order of an epoch and its cut into steps and ranks: every sample once, the same on every
// count of ranks.
#include "data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "tests/data/data_files.h"

namespace annulus {
namespace {

using Samples = std::vector<std::uint32_t>;

Samples every_sample(std::size_t count) {
  Samples all(count);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

// The ids that one rank sees in an epoch.
Samples ids_of_rank(const Batches& batches, const Samples& order, int rank) {
  Samples ids;
  for (std::size_t step = 0; step < batches.steps(); ++step) {
    const RankSlice slice = batches.slice(step, rank);
    const auto first = order.begin() + batches.first_sample(step) + slice.first_position;
    ids.insert(ids.end(), first, first + slice.count);
  }
  return ids;
}

// Of all ranks, step by step: the order in which a single rank would see them.
Samples ids_of_all(const Batches& batches, const Samples& order) {
  Samples ids;
  for (std::size_t step = 0; step < batches.steps(); ++step)
    for (int rank = 0; rank < batches.ranks; ++rank) {
      const RankSlice slice = batches.slice(step, rank);
      for (std::uint32_t i = 0; i < slice.count; ++i)
        ids.push_back(order[batches.first_sample(step) + slice.first_position + i]);
    }
  return ids;
}

TEST(EpochOrder, IsAPermutation) {
  for (const std::size_t samples : {0u, 1u, 2u, 3u, 257u}) {
    Samples order = epoch_order(samples, 5, 0);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, every_sample(samples)) << samples;
  }
}

TEST(EpochOrder, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(epoch_order(1000, 5, 3), epoch_order(1000, 5, 3));
  EXPECT_NE(epoch_order(1000, 5, 3), epoch_order(1000, 5, 4));
  EXPECT_NE(epoch_order(1000, 5, 3), epoch_order(1000, 6, 3));
  EXPECT_NE(epoch_order(1000, 5, 3), epoch_order(1000, 5 + (1ull << 32), 3));
}

// Each of the 24 orders of four samples is equally likely. With 24,000 draws a count has mean 1000
// and standard deviation 31; the usual slip (swapping with any place, not only those still open)
// puts counts below 760 and above 1400.
TEST(EpochOrder, IsUniformOverPermutations) {
  std::map<Samples, int> counts;
  for (std::uint32_t epoch = 0; epoch < 24000; ++epoch) ++counts[epoch_order(4, 11, epoch)];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 160);
}

// 50,000 samples on 16 ranks of 64: 490 updates in ten epochs, 480 without the tails.
TEST(Batches, CountsTheUpdatesOfTheReferenceExperiment) {
  EXPECT_EQ((Batches{50000, 16, 64}.steps() * 10), 490u);
  EXPECT_EQ((Batches{50000, 16, 64, true}.steps() * 10), 480u);
}

TEST(Batches, SharesAShortLastStepAmongTheFirstRanks) {
  const Batches batches{10, 3, 2};
  ASSERT_EQ(batches.steps(), 2u);
  const std::vector<RankSlice> expected = {{0, 2}, {2, 1}, {3, 1}};
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(batches.slice(0, rank).first_position, 2u * rank);
    EXPECT_EQ(batches.slice(0, rank).count, 2u);
    EXPECT_EQ(batches.slice(1, rank).first_position, expected[rank].first_position);
    EXPECT_EQ(batches.slice(1, rank).count, expected[rank].count);
  }
}

TEST(Batches, ARankMayHaveNothingInTheLastStep) {
  const Batches batches{9, 4, 2};
  ASSERT_EQ(batches.steps(), 2u);
  EXPECT_EQ(batches.slice(1, 0).count, 1u);
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(batches.slice(1, rank).count, 0u);
}

TEST(Batches, NoStepAtAllWhenTheOnlyBatchIsDropped) {
  EXPECT_EQ((Batches{1, 1, 64, true}.steps()), 0u);
  EXPECT_EQ((Batches{0, 1, 64}.steps()), 0u);
}

// 22 samples, 2 ranks, 3 epochs, seed 5, and 12 samples on 4 ranks: in each epoch the ranks' ids
// are disjoint and cover all, epochs differ, a second run sees the same.
TEST(Batches, RanksAreDisjointAndCoverEveryEpoch) {
  for (const Batches& batches :
       {Batches{22, 2, 3}, Batches{12, 4, 1}, Batches{10, 3, 2}, Batches{5, 8, 4}}) {
    Samples previous;
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
      const Samples order = epoch_order(batches.samples, 5, epoch);
      Samples seen;
      for (int rank = 0; rank < batches.ranks; ++rank) {
        const Samples ids = ids_of_rank(batches, order, rank);
        EXPECT_EQ(ids, ids_of_rank(batches, epoch_order(batches.samples, 5, epoch), rank));
        seen.insert(seen.end(), ids.begin(), ids.end());
      }
      EXPECT_NE(seen, previous);
      previous = seen;
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(seen, every_sample(batches.samples));
    }
  }
}

TEST(Batches, TheGlobalOrderDoesNotDependOnTheNumberOfRanks) {
  const Samples order = epoch_order(103, 5, 1);
  for (const Batches& batches : {Batches{103, 1, 12}, Batches{103, 4, 3}, Batches{103, 12, 1}})
    EXPECT_EQ(ids_of_all(batches, order), order);
}

TEST(Batches, DroppingTheTailLeavesOnlyFullSteps) {
  const Batches batches{103, 4, 3, true};
  for (std::size_t step = 0; step < batches.steps(); ++step)
    for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(batches.slice(step, rank).count, 3u);
  EXPECT_EQ(ids_of_all(batches, epoch_order(103, 5, 1)).size(), 96u);
}

TEST(Batches, AgreesWithTheReferenceTable) {
  const auto table = test::reference("ANNULUS_SHARED", "cases/files/handout/partition.jsonl");
  if (!table) GTEST_SKIP() << "skipped: no ../shared";
  std::ifstream lines(*table);
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const nlohmann::json row = nlohmann::json::parse(line);
    Batches batches{row["samples"], row["world"], row["batch_per_rank"]};
    EXPECT_EQ(batches.steps(), row["steps_if_all_samples_used"].get<std::size_t>()) << line;
    batches.drop_last = true;
    EXPECT_EQ(batches.steps(), row["steps_if_tail_dropped"].get<std::size_t>()) << line;
  }
  EXPECT_EQ(rows, 5);
}

}  // namespace
}  // namespace annulus
