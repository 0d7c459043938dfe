// The checker's data: vector clocks and the history of byte ranges.
#include <gtest/gtest.h>

#include "kernels/cpu/cudart/clock.h"
#include "kernels/cpu/cudart/ranges.h"

namespace annulus::test {
namespace {

using cpu::AccessHistory;
using cpu::VectorClock;

TEST(HistoryTest, AClockIsBehindWhatItsJoinsWereBehind) {
  VectorClock a, b, c;
  const auto first = a.tick(1, "first");
  b.join(a);
  const auto second = b.tick(2, "second");
  EXPECT_TRUE(b.is_behind(first));
  EXPECT_FALSE(a.is_behind(second));
  c.join(b);
  EXPECT_TRUE(c.is_behind(first));
  const auto third = a.tick(1, "third");
  EXPECT_FALSE(c.is_behind(third));
}

TEST(HistoryTest, ASlotsNextOwnerCountsOn) {
  VectorClock old_owner, observer, new_owner;
  old_owner.tick(1, "old");
  observer.join(old_owner);
  new_owner.start(1, old_owner.count_of(1));
  EXPECT_FALSE(observer.is_behind(new_owner.tick(1, "new")));
}

TEST(HistoryTest, ConflictsAreFoundPerRange) {
  AccessHistory history;
  VectorClock writer, reader;
  const auto enter = [&](std::size_t begin, std::size_t end, bool write, VectorClock& clock,
                         std::uint32_t slot) {
    const auto stamp = clock.tick(slot, write ? "write" : "read");
    return history.enter(begin, end, write, stamp, clock);
  };
  EXPECT_FALSE(enter(100, 200, true, writer, 1));
  EXPECT_FALSE(enter(0, 100, false, reader, 2));
  const auto conflict = enter(150, 300, false, reader, 2);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->begin, 150u);
  EXPECT_EQ(conflict->end, 200u);
  EXPECT_TRUE(conflict->earlier_writes);
  reader.join(writer);
  EXPECT_FALSE(enter(0, 300, false, reader, 2));
  const auto overwritten = enter(250, 260, true, writer, 1);
  ASSERT_TRUE(overwritten);
  EXPECT_FALSE(overwritten->earlier_writes);
  EXPECT_TRUE(history.unordered(writer));
  writer.join(reader);
  EXPECT_FALSE(history.unordered(writer));
}

}  // namespace
}  // namespace annulus::test
