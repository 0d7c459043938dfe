// Ranks as processes that are killed or stopped: every other rank learns which one, and where it
// was.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/comm/launched_run.h"

namespace annulus {
namespace {

using namespace test;

constexpr int ranks = 3;

class Victim : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Victim, IsNamedWithItsPhaseOnAllOthers) {
  const auto [victim, signal] = GetParam();
  // The launcher's grace is long: the others end by themselves.
  const Outcome outcome =
      run_launched({std::to_string(ranks), "20000", "*/join", "*/step=1", "*/step=12",
                    std::to_string(victim) + "/raise=" + std::to_string(signal), "*/loss"});
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string prefix = "[rank " + std::to_string(rank) + "] lost ";
    const std::size_t line = outcome.err.find(prefix);
    if (rank == victim) {
      EXPECT_EQ(line, std::string::npos) << outcome.err;
      continue;
    }
    ASSERT_NE(line, std::string::npos) << "rank " << rank << " was not told:\n" << outcome.err;
    const std::string told = outcome.err.substr(line, outcome.err.find('\n', line) - line);
    EXPECT_EQ(told.find(prefix + std::to_string(victim) + ": rank "), 0U) << told;
    EXPECT_NE(told.find(" in step 12, bucket 3: "), std::string::npos) << told;
    EXPECT_NE(told.find(signal == SIGKILL ? "ended without a word" : "was silent for 3 s"),
              std::string::npos)
        << told;
  }
  EXPECT_EQ(outcome.code, 201);
}

INSTANTIATE_TEST_SUITE_P(Control, Victim,
                         ::testing::Combine(::testing::Values(0, 1, 2),
                                            ::testing::Values(SIGKILL, SIGSTOP)));

TEST(Control, APermanentCodeOfOneProcessIsEveryonesCode) {
  const Outcome outcome =
      run_launched({"3", "20000", "*/join", "*/step=2", "1/leave=6", "1/exit=6", "*/loss"});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_NE(outcome.err.find("[rank 0] lost 1: rank 1 on "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("left with code 6"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace annulus
