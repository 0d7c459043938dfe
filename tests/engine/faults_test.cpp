// Ranks that die, stop or leave in the middle of a run of the real program: every other rank ends
// in time, says which rank was lost and where it was, and leaves nothing but a flight record.
// $ANNULUS_TEST_MOMENTS: random moments of each kind (3); $ANNULUS_TEST_SEED repeats them.
#include <gtest/gtest.h>

#include <deque>
#include <iostream>
#include <random>

#include "comm/control.h"
#include "tests/data/data_files.h"
#include "tests/engine/run_of_ranks.h"
#include "tests/pattern.h"

namespace annulus {
namespace {

using test::RunOfRanks;
using test::Start;
using namespace std::chrono_literals;

constexpr int kPeerLost = 201;
constexpr double kLimit = 10, kRoom = 3;  // seconds, and how much more a busy machine may take

const std::vector<std::string> kEndless{"--model", "mlp",      "--batch-size",
                                        "64",      "--epochs", "100000"};

unsigned number_from_environment(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text ? static_cast<unsigned>(std::stoul(text)) : otherwise;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// "rank 1 on HOST in step 12, bucket 3: ended without a word: …"
std::string loss_of(int rank, const std::string& phase, const std::string& what) {
  return R"((^|[\s\S]*\n)annulus: rank )" + std::to_string(rank) + R"( on \S+ in ()" + phase +
         "): " + what + R"([^\n]*\n)";
}
const std::string kAnyPhase = "start|step \\d+(, bucket \\d+)?|evaluation";
const std::string kEndedWithoutAWord = "ended without a word", kSilent = "was silent for";

// The end of every rank but the victim: in time, with the code and the words. Returns the seconds
// that the last one took.
double expect_loss_of(int victim, RunOfRanks& run, int ranks, const std::string& message) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == victim) continue;
    EXPECT_EQ(run.rank(rank).code(), kPeerLost) << "rank " << rank << ": " << run.rank(rank).err();
    EXPECT_TRUE(test::matches(run.rank(rank).err(), message)) << run.rank(rank).err();
  }
  const double seconds = run.seconds_since_signal();
  EXPECT_LT(seconds, kRoom * kLimit);
  return seconds;
}

// After a stopped rank was lost: all the others wait in one and the same collective.
void expect_same_unfinished_collective(const RunOfRanks& run, int ranks, int victim) {
  nlohmann::json first;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == victim) continue;
    const nlohmann::json unfinished = run.unfinished_collective(rank);
    EXPECT_FALSE(unfinished.is_null()) << "rank " << rank << " waits in no collective";
    if (first.is_null()) first = unfinished;
    EXPECT_EQ(unfinished, first) << "rank " << rank;
  }
}

struct Kind {
  const char* name;
  int signal;
  const char* silent;  // NCCL says nothing of lost peers
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

struct Moment {
  int ranks, victim;
  std::chrono::milliseconds pause;  // after the run folder was made
  bool tcp;
};

std::vector<Moment> random_moments(unsigned count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Moment> moments;
  for (unsigned i = 0; i < count; ++i) {
    const int ranks = 2 + static_cast<int>(random() % 3);
    const int victim = static_cast<int>(random() % static_cast<unsigned>(ranks));
    const std::chrono::milliseconds pause(random() % 1500);
    moments.push_back({ranks, i == 0 ? 0 : victim, pause, random() % 3 == 0});
  }
  return moments;
}

// Returns the seconds until the last rank had ended.
double lose_a_rank_at(const Moment& moment, const Kind& kind, RunOfRanks& run) {
  const auto [ranks, victim, pause, tcp] = moment;
  SCOPED_TRACE(testing::Message() << "rank " << victim << " of " << ranks << " after "
                                  << pause.count() << " ms, " << (tcp ? "TCP" : "shared memory"));
  run.wait_for_run_folder();
  std::this_thread::sleep_for(pause);
  run.signal(victim, kind.signal);
  const bool stopped = kind.signal == SIGSTOP;
  const double seconds = expect_loss_of(
      victim, run, ranks, loss_of(victim, kAnyPhase, stopped ? kSilent : kEndedWithoutAWord));
  run.expect_whole_files();
  for (int rank = 0; rank < ranks; ++rank)
    if (std::filesystem::exists(run.flight_record_path(rank))) run.unfinished_collective(rank);
  if (stopped) run.rank(victim).signal(SIGKILL);
  run.rank(victim).code();
  run.expect_nothing_left();
  return seconds;
}

class RandomMoments : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(
    Faults, RandomMoments,
    testing::Values(Kind{"Killed", SIGKILL, "0"}, Kind{"KilledSilently", SIGKILL, "1"},
                    Kind{"Stopped", SIGSTOP, "0"}),  // of which NCCL never says anything
    [](const auto& info) { return std::string(info.param.name); });

// From the rendezvous on, within set-up, the first epochs and evaluations; three runs at a time.
// The first victim is rank 0, which is the others' only channel.
TEST_P(RandomMoments, EveryOtherRankEndsInTimeAndSaysWhoIsLost) {
  constexpr std::size_t at_a_time = 3;
  const unsigned seed = number_from_environment("ANNULUS_TEST_SEED", std::random_device{}());
  std::cout << "ANNULUS_TEST_SEED=" << seed << std::endl;
  const std::vector<Moment> moments =
      random_moments(number_from_environment("ANNULUS_TEST_MOMENTS", 3), seed);
  std::vector<std::string> timeout;  // soon over, where the test must wait for it
  if (GetParam().signal == SIGSTOP) timeout = {"--peer-timeout", "2"};
  std::vector<double> seconds(moments.size());
  for (std::size_t begin = 0; begin < moments.size() && !HasFailure(); begin += at_a_time) {
    const std::size_t end = std::min(begin + at_a_time, moments.size());
    std::deque<RunOfRanks> runs;
    for (std::size_t i = begin; i < end; ++i)
      runs.emplace_back(RunOfRanks::Options{
          .ranks = moments[i].ranks,
          .arguments = kEndless + timeout,
          .settings = {std::string("ANNULUS_CPU_NCCL_SILENT=") + GetParam().silent,
                       std::string("NCCL_SHM_DISABLE=") + (moments[i].tcp ? "1" : "0")}});
    std::vector<std::jthread> threads;
    for (std::size_t i = begin; i < end; ++i)
      threads.emplace_back(
          [&, i] { seconds[i] = lose_a_rank_at(moments[i], GetParam(), runs[i - begin]); });
  }
  std::cout << "the slowest took " << *std::max_element(seconds.begin(), seconds.end())
            << " s to end\n";
}

// The same by the launcher, with the peer timeout that users get.
TEST(LaunchedFaults, AStoppedRankIsLostWithinTenSecondsByDefault) {
  constexpr int ranks = 3, victim = 1;
  RunOfRanks run({.ranks = ranks,
                  .start = Start::by_launcher,
                  .arguments = kEndless,
                  .settings = {"ANNULUS_CPU_NCCL_SILENT=1"}});
  run.wait_for_epochs(1);
  run.signal(victim, SIGSTOP);
  EXPECT_EQ(run.launcher().code(), kPeerLost);
  const double seconds = run.seconds_since_signal();
  std::cout << "ended after " << seconds << " s\n";
  EXPECT_LT(seconds, kRoom * kLimit);
  const std::string err = run.launcher().err();
  EXPECT_TRUE(test::contains(err,
                             "\\[rank \\d\\] annulus: rank 1 on \\S+ in "
                             "(evaluation|step \\d+, bucket \\d+): was silent"))
      << err;
  expect_same_unfinished_collective(run, ranks, victim);
  run.expect_whole_files();
  run.expect_nothing_left();
}

TEST(LaunchedFaults, AKilledRankIsTheFirstCause) {
  for (const int victim : {0, 2}) {
    RunOfRanks run({.ranks = 3, .start = Start::by_launcher, .arguments = kEndless});
    run.wait_for_epochs(1);
    run.signal(victim, SIGKILL);
    EXPECT_EQ(run.launcher().code(), kPeerLost);
    EXPECT_LT(run.seconds_since_signal(), kRoom * kLimit);
    EXPECT_EQ(test::last_line(run.launcher().err()),
              "annulus: rank " + std::to_string(victim) + " was killed by SIGKILL");
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(std::filesystem::exists(run.flight_record_path(rank)), rank != victim);
    run.expect_whole_files();
    run.expect_nothing_left();
  }
}

TEST(LaunchedFaults, ARankThatDiesBeforeTheRendezvousEndsAll) {
  RunOfRanks run({.ranks = 3, .start = Start::by_launcher, .arguments = kEndless});
  run.signal(2, SIGKILL);
  EXPECT_EQ(run.launcher().code(), kPeerLost);
  EXPECT_LT(run.seconds_since_signal(), kRoom * kLimit);
  EXPECT_EQ(test::last_line(run.launcher().err()), "annulus: rank 2 was killed by SIGKILL");
  run.expect_nothing_left();
}

TEST(Faults, ARankThatNeverComesIsNamed) {
  RunOfRanks run({.ranks = 3,
                  .arguments = kEndless,
                  .of_rank = [](int rank, RunOfRanks::Words& arguments, RunOfRanks::Words&) {
                    if (rank == 2) arguments = {"/bin/false"};
                    arguments.insert(arguments.end(), {"--rendezvous-timeout", "2"});
                  }});
  for (const int rank : {0, 1}) {
    EXPECT_EQ(run.rank(rank).code(), 200);
    EXPECT_NE(test::last_line(run.rank(rank).err()).find("rank 2 of 3 did not come"),
              std::string::npos)
        << run.rank(rank).err();
  }
  run.expect_nothing_left();
}

// Between the rendezvous and NCCL's own.
TEST(Faults, ARankThatDiesBeforeNcclIsSetUpIsNamed) {
  RunOfRanks run({.ranks = 3, .arguments = kEndless});
  run.wait_for_run_folder();
  run.signal(1, SIGKILL);
  expect_loss_of(1, run, 3, loss_of(1, "start", kEndedWithoutAWord));
  run.expect_nothing_left();
}

// The one update's checkpoint says that the evaluation has begun; it is of so many images that it
// lasts for several heartbeats, which tell the others the phase, on any machine.
TEST(Faults, ARankThatDiesInAnEvaluationIsNamedWithIt) {
  const test::TemporaryFolder data;
  test::write_cifar10(data.path(), 2);
  test::write_file(data.path() / "test_batch.bin", test::cifar_records(20000));
  RunOfRanks run(
      {.ranks = 2,
       .arguments = {"--model", "resnet-8", "--data", data.path().string(), "--batch-size", "2",
                     "--max-steps", "1", "--threads", "1", "--checkpoint-every", "1"}});
  run.wait_for_file("checkpoints/step-000000001.safetensors");
  std::this_thread::sleep_for(2 * ControlOptions{}.heartbeat);
  run.signal(1, SIGKILL);
  EXPECT_EQ(run.rank(0).code(), kPeerLost);
  EXPECT_TRUE(test::matches(run.rank(0).err(), loss_of(1, "evaluation", kEndedWithoutAWord)))
      << run.rank(0).err();
  run.expect_whole_files();
  run.expect_nothing_left();
}

// Who is lost after the last metrics are written takes nothing away.
TEST(Faults, ARankThatDiesAtTheEndTakesNothingAway) {
  RunOfRanks run({.ranks = 2, .arguments = {"--model", "mlp", "--max-steps", "40"}});
  run.wait_for_epochs(1);
  run.signal(1, SIGKILL);
  const int code = run.rank(0).code();
  EXPECT_TRUE(code == kPeerLost || code == 0) << run.rank(0).err();
  EXPECT_TRUE(std::filesystem::exists(run.run_folder() / "metrics.jsonl"));
  run.expect_whole_files();
  run.expect_nothing_left();
}

// Shorter than the peer timeout: the others wait, and all end well.
TEST(Faults, ARankThatIsOnlyLateIsWaitedFor) {
  RunOfRanks run({.ranks = 3, .arguments = {"--model", "mlp", "--epochs", "3"}});
  run.wait_for_epochs(1);
  run.signal(2, SIGSTOP);
  std::this_thread::sleep_for(3s);
  run.rank(2).signal(SIGCONT);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(run.rank(rank).code(), 0) << run.rank(rank).err();
  EXPECT_EQ(run.rank(1).out() + run.rank(2).out(), "") << "rank 0 alone speaks";
  run.expect_whole_files();
  run.expect_nothing_left();
}

// --- a permanent failure of one is that of all ---------------------------------------------------

TEST(PermanentFailures, DataThatOneRankCannotRead) {
  for (const int victim : {0, 1}) {
    RunOfRanks run({.ranks = 3,
                    .arguments = kEndless,
                    .of_rank = [&](int rank, RunOfRanks::Words&, RunOfRanks::Words& settings) {
                      if (rank == victim) settings.push_back("ANNULUS_DATA=nowhere");
                    }});
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(run.rank(rank).code(), 3) << run.rank(rank).err();
      EXPECT_NE(run.rank(rank).err().find("nowhere"), std::string::npos) << run.rank(rank).err();
    }
    run.expect_nothing_left();
  }
}

TEST(PermanentFailures, ARunThatDiverges) {
  for (const Start start : {Start::by_hand, Start::by_launcher}) {
    RunOfRanks run({.ranks = 2,
                    .start = start,
                    .arguments = {"--model", "mlp", "--lr", "1e30", "--batch-size", "64"}});
    EXPECT_EQ(run.rank(0).code(), 5) << run.rank(0).err();
    EXPECT_NE(run.rank(0).err().find("diverged"), std::string::npos) << run.rank(0).err();
    if (start == Start::by_hand) {
      EXPECT_EQ(run.rank(1).code(), 5) << run.rank(1).err();
    }
    run.expect_whole_files();
    run.expect_nothing_left();
  }
}

// In the middle of training: rank 0's first epoch line has nowhere to go.
TEST(PermanentFailures, AFullDisk) {
  RunOfRanks run(
      {.ranks = 3,
       .arguments = kEndless,
       .of_rank = [](int rank, RunOfRanks::Words& arguments, RunOfRanks::Words&) {
         if (rank == 0)
           arguments.insert(arguments.begin(), {"/bin/sh", "-c", R"(exec "$0" "$@" >/dev/full)"});
       }});
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(run.rank(rank).code(), 6) << run.rank(rank).err();
    EXPECT_NE(run.rank(rank).err().find("stdout: cannot be written"), std::string::npos);
    run.unfinished_collective(rank);
  }
  run.expect_whole_files();
  run.expect_nothing_left();
}

// After the rendezvous, before NCCL is set up.
TEST(PermanentFailures, DeviceMemoryThatOneRankLacks) {
  RunOfRanks run({.ranks = 3,
                  .arguments = kEndless,
                  .of_rank = [](int rank, RunOfRanks::Words&, RunOfRanks::Words& settings) {
                    if (rank == 1) settings.push_back("ANNULUS_CPU_MEMORY=30000000");
                  }});
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(run.rank(rank).code(), 4) << run.rank(rank).err();
  run.expect_nothing_left();
}

}  // namespace
}  // namespace annulus
