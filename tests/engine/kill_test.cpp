// SIGKILL at seeded random moments of a run that writes a checkpoint after every few updates, so
// that many moments lie within a write: each resume ends in the bits of a run that was not killed,
// and a torn file is never loaded. ANNULUS_TEST_MOMENTS says how many; few where time is short.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/engine/stopped_run.h"

namespace annulus::test {
namespace {

const std::string kRun = "train --data data --model seed-cnn --batch-size 10 --epochs 2 ";
const std::string kOften = "--checkpoint-every 1 --starts-per-update 0 ";

class Kill : public StoppedRun {
 protected:
  static int moments() {
    const char* count = std::getenv("ANNULUS_TEST_MOMENTS");
    return count ? std::atoi(count) : 4;
  }
  bool writing(const std::string& name) const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path(name) / "checkpoints", error))
      if (entry.path().extension() == ".tmp") return true;
    return false;
  }

  // Kills a process after `delay`, or at the first write that then begins.
  void kill_at(AnnulusProcess& process, std::chrono::milliseconds delay, bool in_a_write,
               const std::string& name) const {
    const auto at = Clock::now() + delay;
    while (Clock::now() < at && !process.ended()) std::this_thread::sleep_for(1ms);
    while (in_a_write && !writing(name) && !process.ended()) std::this_thread::yield();
    process.signal(SIGKILL);
    process.code();
  }

  void killed_and_resumed(const std::string& ranks) {
    ASSERT_EQ(run(kRun + ranks + "--out straight"), 0) << err_;
    std::mt19937 random(5);
    int killed = 0, in_a_write = 0;
    for (int n = 0; killed < moments(); ++n) {
      const std::string name = fmt::format("run{}", n);
      const std::string command =
          fmt::format("{}{}{}--resume auto --out {}", kRun, kOften, ranks, name);
      for (int turn = 0; turn < 3; ++turn) {
        AnnulusProcess process = start(command);
        kill_at(process, std::chrono::milliseconds(100 + random() % 1200), random() % 2, name);
        if (process.code() != 128 + SIGKILL && process.code() != 201) break;
        ++killed;
        if (writing(name)) ++in_a_write;
      }
      ASSERT_EQ(run(command), 0) << err_;
      expect_the_same(name, "straight");
      EXPECT_FALSE(writing(name)) << "what a killed process left is still there";
    }
    std::cout << killed << " killed, " << in_a_write << " within a write\n";
  }
};

TEST_F(Kill, AtRandomMoments) { killed_and_resumed(""); }

TEST_F(Kill, AtRandomMomentsOfSeveralRanks) { killed_and_resumed("--ranks 2 "); }

}  // namespace
}  // namespace annulus::test
