// A process whose main is not reached any more ends with the code and the reason; one that comes
// back in time is left alone.
#include "comm/exit_backstop.h"

#include <gtest/gtest.h>

#include <thread>

namespace annulus {
namespace {

using namespace std::chrono_literals;

void hang() { std::this_thread::sleep_for(60s); }

TEST(ExitBackstopDeathTest, EndsAProcessThatHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ExitBackstop backstop;
        backstop.arm(ExitCode::peer_lost, "rank 3 is lost", 50ms);
        backstop.arm(ExitCode::internal, "the second does not count", 10ms);
        hang();
      },
      testing::ExitedWithCode(201), "rank 3 is lost; the device has not come back for 50 ms");
}

TEST(ExitBackstop, LeavesAloneWhatComesBack) {
  {
    ExitBackstop backstop;
    backstop.arm(ExitCode::peer_lost, "lost", 50ms);
  }
  ExitBackstop disarmed;
  disarmed.disarm();
  disarmed.arm(ExitCode::peer_lost, "too late to be armed", 1ms);
  std::this_thread::sleep_for(200ms);
}

}  // namespace
}  // namespace annulus
