// Runs that others start: mpirun, and a container whose first process is ours. Skipped where the
// machine has no mpirun, or does not let us make a process namespace.
#include <gtest/gtest.h>

#include "tests/engine/run_of_ranks.h"

namespace annulus {
namespace {

using test::RunOfRanks;
using test::Start;

bool works(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

RunOfRanks::Options by_mpirun(RunOfRanks::Words arguments) {
  return {.ranks = 2,
          .start = Start::by_command,
          .command = {"mpirun", "-np", "2", "--oversubscribe"},
          .arguments = std::move(arguments),
          .settings = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}};
}

class Mpirun : public testing::Test {
 protected:
  void SetUp() override {
    if (!works("mpirun --version")) GTEST_SKIP() << "no mpirun here (openmpi-bin)";
  }
};

TEST_F(Mpirun, StartsOneRunOfTwoRanks) {
  RunOfRanks run(by_mpirun({"--model", "mlp", "--max-steps", "20"}));
  EXPECT_EQ(run.launcher().code(), 0) << run.launcher().err();
  const std::string out = run.launcher().out();
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  EXPECT_NE(run.launcher().err().find("global batch 128 (2 x 64)"), std::string::npos)
      << run.launcher().err();
  run.expect_whole_files();
}

TEST_F(Mpirun, PassesOnThePermanentCode) {
  RunOfRanks run(by_mpirun({"--model", "mlp", "--lr", "1e30"}));
  EXPECT_EQ(run.launcher().code(), 5) << run.launcher().err();
}

// Without a handler the first process of a container ignores SIGTERM.
TEST(Container, TheFirstProcessEndsOnSigterm) {
  const std::string unshare = "unshare --user --map-root-user --pid --fork --mount-proc";
  if (!works(unshare + " true")) GTEST_SKIP() << "no process namespaces here";
  RunOfRanks run({.ranks = 2,
                  .start = Start::by_launcher,
                  .command = {"unshare", "--user", "--map-root-user", "--pid", "--fork",
                              "--mount-proc", "--kill-child"},
                  .arguments = {"--model", "mlp", "--epochs", "100000"}});
  run.wait_for_epochs(1);
  run.signal_launcher(SIGTERM);
  EXPECT_EQ(run.launcher().code(), 143) << run.launcher().err();
  EXPECT_LT(run.seconds_since_signal(), 30);
  run.expect_whole_files();
  run.expect_nothing_left();
}

}  // namespace
}  // namespace annulus
