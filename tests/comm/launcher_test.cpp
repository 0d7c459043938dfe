// The launcher with real processes: what it passes on, how it ends, and that nothing is left.
#include "comm/launcher.h"

#include <gtest/gtest.h>

#include "tests/comm/launched_run.h"

namespace annulus {
namespace {

using namespace test;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// --- output --------------------------------------------------------------------------------------

TEST(Launcher, RankZerosStdoutIsBareTheRestIsPrefixedOnStderr) {
  const Outcome outcome = run_launched(
      {"3", "5000", "*/out=epoch\\n", "1/err=warning\\nand more\\n", "0/err=from zero\\n"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "epoch\n");
  EXPECT_TRUE(has(outcome.err, "[rank 1] epoch\n")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "[rank 2] epoch\n")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "[rank 1] warning\n[rank 1] and more\n")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "[rank 0] from zero\n")) << outcome.err;
}

TEST(Launcher, PartialAndLongLinesAreWhole) {
  const std::string long_text(100'000, 'x');
  const Outcome outcome =
      run_launched({"2", "5000", "1/err=begun", "1/sleep=100", "1/err= ended\\n",
                    "1/err=" + long_text, "0/sleep=50", "0/err=other\\n", "0/err=open"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(has(outcome.err, "[rank 1] begun ended\n")) << outcome.err.substr(0, 300);
  EXPECT_TRUE(has(outcome.err, "[rank 1] " + long_text + "\n"));
  EXPECT_TRUE(has(outcome.err, "[rank 0] other\n"));
  EXPECT_TRUE(has(outcome.err, "[rank 0] open\n"));
}

// --- endings -------------------------------------------------------------------------------------

TEST(Launcher, ACodeIsPassedOnAndTheFirstCauseIsNamed) {
  const Outcome outcome = run_launched({"3", "400", "2/exit=5", "*/sleep=60000"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_EQ(outcome.last_line(), "annulus: rank 2 ended with code 5");
}

TEST(Launcher, AKilledRankIsALostPeer) {
  const Outcome outcome = run_launched({"2", "400", "1/raise=9", "*/sleep=60000"});
  EXPECT_EQ(outcome.code, 201);
  EXPECT_EQ(outcome.last_line(), "annulus: rank 1 was killed by SIGKILL");
}

TEST(Launcher, APermanentCodeBeatsALostPeer) {
  const Outcome outcome = run_launched({"2", "5000", "0/exit=201", "1/sleep=200", "1/exit=3"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.last_line(), "annulus: rank 1 ended with code 3");
}

TEST(Launcher, APermanentCodeCountsAlsoWhereAnotherRankIsTheFirstCause) {
  const Outcome outcome = run_launched({"2", "5000", "0/raise=9", "1/sleep=200", "1/exit=3"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.last_line(), "annulus: rank 0 was killed by SIGKILL");
}

TEST(Launcher, AStoppedRankIsKilledAndNamed) {
  const Outcome outcome = run_launched({"2", "400", "1/raise=19", "0/sleep=200", "0/exit=201"});
  EXPECT_EQ(outcome.code, 201);
  EXPECT_EQ(outcome.last_line(), "annulus: rank 1 did not end and had to be killed");
}

TEST(Launcher, ARankThatIgnoresSigtermIsKilled) {
  const Outcome outcome =
      run_launched({"2", "300", "1/ignore-term", "0/sleep=200", "0/exit=4", "1/sleep=60000"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.last_line(), "annulus: rank 0 ended with code 4");
}

// --- signals -------------------------------------------------------------------------------------

TEST(Launcher, SigtermIsForwarded) {
  Launched launched({"2", "5000", "*/on-term=143", "*/err=ready\\n", "*/sleep=60000"});
  ASSERT_TRUE(Launched::wait_for([&] { return launched.err(); }, "ready", 2));
  launched.signal(SIGTERM);
  const Outcome outcome = launched.outcome();
  EXPECT_EQ(outcome.code, 143);
  EXPECT_EQ(outcome.last_line(), "annulus: stopped by SIGTERM");
}

TEST(Launcher, ARankThatSavesAtSigtermIsGivenItsTime) {
  Launched launched(
      {"2", "200", "1/on-term=143", "0/save-at-term=1000", "*/err=ready\\n", "*/sleep=60000"});
  ASSERT_TRUE(Launched::wait_for([&] { return launched.err(); }, "ready", 2));
  launched.signal(SIGTERM);
  const Outcome outcome = launched.outcome();
  EXPECT_EQ(outcome.code, 143);
  EXPECT_EQ(outcome.out, "saved\n");
}

TEST(Launcher, SigintKillsRanksThatDoNotCare) {
  Launched launched({"2", "5000", "*/err=ready\\n", "*/sleep=60000"});
  ASSERT_TRUE(Launched::wait_for([&] { return launched.err(); }, "ready", 2));
  launched.signal(SIGINT);
  EXPECT_EQ(launched.outcome().code, 130);
}

TEST(Launcher, ASecondSignalKills) {
  Launched launched({"2", "60000", "*/ignore-term", "*/err=ready\\n", "*/sleep=60000"});
  ASSERT_TRUE(Launched::wait_for([&] { return launched.err(); }, "ready", 2));
  launched.signal(SIGTERM);
  std::this_thread::sleep_for(1200ms);  // sooner it is taken for the same one
  launched.signal(SIGTERM);
  EXPECT_EQ(launched.outcome().code, 143);
}

// --- nothing is left -----------------------------------------------------------------------------

TEST(Launcher, ANodeAmongOthersNamesItsRanksByTheirPlaceInTheRun) {
  const Outcome outcome = run_launched(
      {"2", "5000", "*/env=ANNULUS_LAUNCHER_RANKS", "3/env=ANNULUS_LAUNCHER_LOCAL_RANK",
       "*/env=ANNULUS_LAUNCHER_RENDEZVOUS", "2/env=LAUNCHED_SAYS", "2/out=epoch\\n", "3/exit=6"},
      {"LAUNCHED_AS=2 4 host-a:12345"});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_EQ(outcome.out, "") << "rank 0 is elsewhere";
  for (const char* line :
       {"[rank 2] ANNULUS_LAUNCHER_RANKS=4\n", "[rank 3] ANNULUS_LAUNCHER_LOCAL_RANK=1\n",
        "[rank 2] ANNULUS_LAUNCHER_RENDEZVOUS=host-a:12345\n", "[rank 2] LAUNCHED_SAYS=hello 0\n",
        "[rank 2] epoch\n", "rank 3 ended with code 6"})
    EXPECT_TRUE(has(outcome.err, line)) << outcome.err;
}

TEST(Launcher, RanksThatStopForAnotherNodesSignalAreNoFailure) {
  const Outcome outcome = run_launched({"2", "100", "0/exit=143", "1/sleep=700", "1/exit=143"});
  EXPECT_EQ(outcome.code, 143);
  EXPECT_FALSE(has(outcome.err, "killed")) << outcome.err;
}

TEST(Launcher, RanksDieWithAKilledLauncher) {
  Launched launched({"2", "5000", "0/pid", "1/pid", "1/ignore-term", "*/sleep=60000"});
  ASSERT_TRUE(Launched::wait_for([&] { return launched.out() + launched.err(); }, "pid ", 2));
  const std::vector<pid_t> pids = pids_in(launched.out() + launched.err());
  launched.signal(SIGKILL);
  for (const pid_t pid : pids) EXPECT_TRUE(gone(pid)) << pid;
}

TEST(Launcher, WhatARankStartedIsEndedWithIt) {
  const Outcome outcome = run_launched({"2", "5000", "0/child"});
  EXPECT_EQ(outcome.code, 0);
  const std::vector<pid_t> pids = pids_in(outcome.out);
  ASSERT_EQ(pids.size(), 1U);
  EXPECT_TRUE(gone(pids[0]));
}

// --- environment ---------------------------------------------------------------------------------

TEST(Launcher, RanksShareTheCoresAndUseThreads) {
  const Outcome outcome =
      run_launched({"2", "5000", "*/env=ANNULUS_CPU_THREADS", "*/env=ANNULUS_CPU_MODE"},
                   {"ANNULUS_CPU_MODE=shuffled"});
  EXPECT_TRUE(has(outcome.err, "[rank 1] ANNULUS_CPU_MODE=shuffled\n")) << outcome.err;
  const std::string share = std::to_string(std::max(1U, usable_cores() / 2));
  EXPECT_TRUE(has(outcome.err, "[rank 0] ANNULUS_CPU_THREADS=" + share + "\n")) << outcome.err;
}

TEST(Launcher, AModeOfTheRanksIsThreadsUnlessTold) {
  unsetenv("ANNULUS_CPU_MODE");
  const Outcome outcome =
      run_launched({"2", "5000", "*/env=ANNULUS_CPU_THREADS", "*/env=ANNULUS_CPU_MODE"},
                   {"ANNULUS_CPU_THREADS=7"});
  EXPECT_TRUE(has(outcome.err, "[rank 1] ANNULUS_CPU_THREADS=7\n")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "[rank 1] ANNULUS_CPU_MODE=threads\n")) << outcome.err;
}

}  // namespace
}  // namespace annulus
