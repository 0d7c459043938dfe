// Ranks as processes: exact sums, and what the others see when one is killed, with NCCL reporting
// and with NCCL silent. Nothing may be left behind.
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/comm/launched_run.h"

namespace annulus::test {
namespace {

using std::chrono::steady_clock;

constexpr auto kToldWithin = 3s;  // a second is promised, on a machine that is not busy

// Those of ours; other programs come and go.
std::set<std::string> shared_memory_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().string();
    if (name.find("nccl") != std::string::npos || name.find("annulus") != std::string::npos)
      names.insert(name);
  }
  return names;
}

class Processes : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { before_ = shared_memory_files(); }
  void TearDown() override { EXPECT_EQ(shared_memory_files(), before_); }

  void start(const std::string& task, int world, std::vector<std::string> settings = {}) {
    if (is_ring()) settings.push_back("NCCL_SHM_DISABLE=1");
    const auto launch = [&](int rank, const std::vector<std::string>& rest) {
      std::vector<std::string> arguments = {task, std::to_string(rank), std::to_string(world)};
      arguments.insert(arguments.end(), rest.begin(), rest.end());
      ranks_.push_back(std::make_unique<Launched>(arguments, settings, "nccl_rank"));
    };
    launch(0, {});
    ASSERT_TRUE(wait_for(0, "\n"));
    const std::string out = ranks_[0]->out();
    for (int rank = 1; rank < world; ++rank) launch(rank, {out.substr(3, out.find('\n') - 3)});
  }

  static bool is_ring() { return std::string(GetParam()) == "tcp"; }
  Launched& rank(std::size_t rank) { return *ranks_[rank]; }
  bool wait_for(std::size_t rank, const std::string& text) {
    return Launched::wait_for([&] { return ranks_[rank]->out(); }, text);
  }
  void wait_until_all_work() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) ASSERT_TRUE(wait_for(rank, "working"));
  }

  // Kills one rank; the others must say ncclRemoteError in time.
  void kill_and_expect_told(std::size_t victim) {
    wait_until_all_work();
    const auto killed_at = steady_clock::now();
    rank(victim).signal(SIGKILL);
    for (std::size_t other = 0; other < ranks_.size(); ++other) {
      if (other == victim) continue;
      const Outcome outcome = rank(other).outcome();
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_NE(outcome.out.find("state 6 "), std::string::npos) << outcome.out;
      EXPECT_NE(outcome.out.find("rank " + std::to_string(victim) + " is gone"), std::string::npos)
          << outcome.out;
    }
    EXPECT_LT(steady_clock::now() - killed_at, kToldWithin);
  }

 private:
  std::set<std::string> before_;
  std::vector<std::unique_ptr<Launched>> ranks_;
};

TEST_P(Processes, SumsAreExact) {
  start("sum", 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Outcome outcome = rank(i).outcome();
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find(std::string("right over ") + GetParam()), std::string::npos)
        << outcome.out;
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_P(Processes, AKilledRankIsToldDuringCollectives) {
  start("work", 3);
  kill_and_expect_told(1);
}

TEST_P(Processes, AKilledRankZeroIsToldToo) {
  start("work", 2);
  kill_and_expect_told(0);
}

TEST_P(Processes, AKilledRankIsToldBetweenCollectives) {
  start("idle", 4);
  kill_and_expect_told(2);
}

TEST_P(Processes, SilentNcclHangsUntilTheAbort) {
  start("work", 3, {"ANNULUS_CPU_NCCL_SILENT=1"});
  wait_until_all_work();
  rank(1).signal(SIGKILL);
  std::this_thread::sleep_for(1s);
  for (const std::size_t other : {0, 2}) {
    EXPECT_EQ(rank(other).out().find("state"), std::string::npos) << rank(other).out();
    rank(other).signal(SIGTERM);
    const Outcome outcome = rank(other).outcome();
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("aborted"), std::string::npos) << outcome.out;
  }
}

TEST_P(Processes, OneHostNameEachMeansTcp) {
  if (is_ring()) return;
  Launched first({"sum", "0", "2"}, {"NCCL_HOSTID=a"}, "nccl_rank");
  ASSERT_TRUE(Launched::wait_for([&] { return first.out(); }, "\n"));
  const std::string out = first.out();
  Launched second({"sum", "1", "2", out.substr(3, out.find('\n') - 3)}, {"NCCL_HOSTID=b"},
                  "nccl_rank");
  for (Launched* rank : {&first, &second})
    EXPECT_NE(rank->outcome().out.find("right over tcp"), std::string::npos) << rank->out();
}

INSTANTIATE_TEST_SUITE_P(Nccl, Processes, testing::Values("shared memory", "tcp"),
                         [](const auto& info) {
                           return std::string(info.param) == "tcp" ? "Tcp" : "SharedMemory";
                         });

}  // namespace
}  // namespace annulus::test
