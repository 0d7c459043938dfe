// Ranks that do not fit together are refused before NCCL is set up, each with the code and both
// ranks' names: options, buckets, NCCL's version and settings, devices. What may differ is at most
// warned of.
#include <gtest/gtest.h>

#include "tests/engine/run_of_ranks.h"
#include "tests/pattern.h"

namespace annulus {
namespace {

using test::RunOfRanks;
using Words = RunOfRanks::Words;

const Words kShort{"--model", "mlp", "--max-steps", "2"};

struct Difference {
  const char* name;
  Words arguments, settings;  // of rank 1 alone
  std::string fact;
};

void PrintTo(const Difference& difference, std::ostream* out) { *out << difference.name; }

class RanksThatDiffer : public testing::TestWithParam<Difference> {};

INSTANTIATE_TEST_SUITE_P(
    Refused, RanksThatDiffer,
    testing::Values(Difference{"Options", {"--batch-size", "32"}, {}, "batch_size"},
                    Difference{"Recipe", {"--epochs", "2"}, {}, "epochs"},
                    Difference{"LearningRate", {"--lr", "0.25"}, {}, "lr"},
                    Difference{"Replacements", {"--replace", "dropout=cudnn"}, {}, "replace"},
                    Difference{"Buckets", {"--bucket-size", "64K"}, {}, "bucket_size"},
                    Difference{"Protocol", {}, {"NCCL_PROTO=LL"}, "NCCL_PROTO"},
                    Difference{
                        "NcclVersion", {}, {"ANNULUS_CPU_NCCL_VERSION=21805"}, "NCCL version"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(RanksThatDiffer, AreRefusedWithBothNamed) {
  const Difference& difference = GetParam();
  RunOfRanks run({.ranks = 2,
                  .arguments = kShort,
                  .of_rank = [&](int rank, Words& arguments, Words& settings) {
                    if (rank == 0) return;
                    arguments.insert(arguments.end(), difference.arguments.begin(),
                                     difference.arguments.end());
                    settings.insert(settings.end(), difference.settings.begin(),
                                    difference.settings.end());
                  }});
  const std::string message = R"(annulus: rank 0 on \S+ has )" + difference.fact +
                              R"( '[^\n]*', rank 1 on \S+ has '[^\n]*'[^\n]*)";
  for (const int rank : {0, 1}) {
    EXPECT_EQ(run.rank(rank).code(), 2);
    const std::string line = test::last_line(run.rank(rank).err());
    EXPECT_TRUE(test::matches(line, message)) << line;
  }
  EXPECT_FALSE(std::filesystem::exists(run.run_folder()));
  run.expect_nothing_left();
}

// Two processes that both believe to be alone on their machine: each sees one device, as where a
// launcher binds one to each, but it is the same (case G05).
TEST(Refused, TwoRanksOnOneDevice) {
  RunOfRanks run({.ranks = 2, .arguments = kShort, .settings = {"ANNULUS_CPU_DEVICES=1"}});
  for (const int rank : {0, 1}) {
    EXPECT_EQ(run.rank(rank).code(), 4);
    const std::string line = test::last_line(run.rank(rank).err());
    EXPECT_TRUE(
        test::matches(line, "annulus: rank 0 on \\S+ and rank 1 on \\S+ both have device .*"))
        << line;
  }
  run.expect_nothing_left();
}

// Where a launcher binds one device to each rank, all see number 0, whatever their local rank.
TEST(Allowed, OneDeviceBoundToEachRank) {
  RunOfRanks run(
      {.ranks = 4, .arguments = kShort, .of_rank = [](int rank, Words&, Words& settings) {
         settings.push_back("ANNULUS_CPU_DEVICES=1");
         settings.push_back("ANNULUS_CPU_FIRST_DEVICE=" + std::to_string(rank));
       }});
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(run.rank(rank).code(), 0) << run.rank(rank).err();
}

// Case G05, too.
TEST(Refused, ALocalRankWithoutADevice) {
  RunOfRanks run({.ranks = 4,
                  .arguments = kShort,
                  .settings = {"ANNULUS_CPU_DEVICES=2"},
                  .of_rank = [](int rank, Words& arguments, Words&) {
                    if (rank == 3) return;
                    arguments.insert(arguments.end(), {"--rendezvous-timeout", "1"});
                  }});
  EXPECT_EQ(run.rank(3).code(), 4);
  EXPECT_NE(run.rank(3).err().find("local rank 3 has no device: this machine has 2"),
            std::string::npos)
      << run.rank(3).err();
}

// What may differ without harm, and what is only suspicious: the run goes on.
TEST(Allowed, DifferentLogsAndCountsOfRanksOnAHost) {
  RunOfRanks run(
      {.ranks = 2, .arguments = kShort, .of_rank = [](int rank, Words& arguments, Words& settings) {
         settings.push_back("ANNULUS_CPU_DEVICES=2");
         if (rank == 0)
           *(std::find(arguments.begin(), arguments.end(), "--local-world-size") + 1) = "1";
         if (rank == 0) settings.push_back("NCCL_DEBUG=INFO");
       }});
  for (const int rank : {0, 1}) EXPECT_EQ(run.rank(rank).code(), 0) << run.rank(rank).err();
  EXPECT_TRUE(
      test::contains(run.rank(0).err(), "warning: rank 0 on \\S+ has ranks on a host '1', rank 1"))
      << run.rank(0).err();
}

}  // namespace
}  // namespace annulus
