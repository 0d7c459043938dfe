// Learning rates by hand.
#include <gtest/gtest.h>

#include "engine/schedule.h"
#include "kernels/check.h"

namespace annulus {
namespace {

TEST(Schedule, Constant) {
  const Schedule s{.kind = ScheduleKind::constant, .peak = 0.3, .warmup = 0.5, .updates = 10};
  EXPECT_DOUBLE_EQ(s.rate(0), 0.3);
  EXPECT_DOUBLE_EQ(s.rate(9), 0.3);
}

TEST(Schedule, OneCycleRisesThenFallsToZero) {
  const Schedule s{.kind = ScheduleKind::one_cycle, .peak = 1, .warmup = 0.2, .updates = 10};
  EXPECT_DOUBLE_EQ(s.rate(0), 0.25);  // progress 0.05 of a warm-up of 0.2
  EXPECT_DOUBLE_EQ(s.rate(1), 0.75);
  EXPECT_DOUBLE_EQ(s.rate(2), 0.9375);  // progress 0.25: 1 - 0.05 / 0.8
  EXPECT_DOUBLE_EQ(s.rate(9), 0.0625);
}

TEST(Schedule, WarmUpThenPeak) {
  const Schedule s{.kind = ScheduleKind::warm_up, .peak = 0.16, .warmup = 0.5, .updates = 4};
  EXPECT_DOUBLE_EQ(s.rate(0), 0.04);
  EXPECT_DOUBLE_EQ(s.rate(1), 0.12);
  EXPECT_DOUBLE_EQ(s.rate(2), 0.16);
  EXPECT_DOUBLE_EQ(s.rate(3), 0.16);
}

TEST(Schedule, Cosine) {
  const Schedule s{.kind = ScheduleKind::cosine, .peak = 2, .warmup = 0, .updates = 1};
  EXPECT_NEAR(s.rate(0), 1.0, 1e-12);  // half way down
}

TEST(Schedule, UnknownNameListsTheNames) {
  try {
    parse_schedule("linear");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("one-cycle"), std::string::npos);
  }
}

}  // namespace
}  // namespace annulus
