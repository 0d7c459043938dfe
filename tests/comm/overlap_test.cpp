// Interval arithmetic by hand-worked examples; the public cases are ../shared's P02 and P06.
#include "comm/overlap.h"

#include <gtest/gtest.h>

#include "tests/case_files.h"

namespace annulus {
namespace {

std::vector<Interval> intervals(const nlohmann::json& list) {
  std::vector<Interval> result;
  for (const auto& pair : list) result.push_back({pair[0], pair[1]});
  return result;
}

TEST(Overlap, UnionJoinsWhatTouchesAndDropsWhatIsEmpty) {
  const auto joined = union_of({{5, 7}, {0, 2}, {2, 3}, {4, 4}, {6, 6.5}, {9, 8}});
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[0].begin, 0);
  EXPECT_EQ(joined[0].end, 3);
  EXPECT_EQ(joined[1].begin, 5);
  EXPECT_EQ(joined[1].end, 7);
  EXPECT_EQ(total_length(joined), 5);
}

TEST(Overlap, SharedTimeCountsOnce) {
  const Overlap o = measure_overlap({{0, 10}, {5, 12}, {20, 30}}, {{8, 22}, {9, 10}, {25, 40}});
  EXPECT_EQ(o.compute, 22);
  EXPECT_EQ(o.communication, 29);
  EXPECT_EQ(o.overlapped, 4 + 2 + 5);
  EXPECT_EQ(o.exposed(), 18);
}

TEST(Overlap, NothingToHideIsAllHidden) {
  EXPECT_EQ(measure_overlap({{0, 1}}, {}).ratio(), 1);
  EXPECT_EQ(measure_overlap({}, {{0, 1}}).ratio(), 0);
}

TEST(Overlap, CaseUnions) {
  for (const char* name : {"union", "touching", "nested"}) {
    const auto file = test::case_file(std::string("trace/overlap_") + name + ".json");
    if (!file) return;
    const Overlap o = measure_overlap(intervals((*file)["compute"]), intervals((*file)["comm"]));
    const auto& expected = (*file)["expect"];
    EXPECT_DOUBLE_EQ(o.communication, expected["comm_us"].get<double>()) << name;
    EXPECT_DOUBLE_EQ(o.overlapped, expected["overlap_us"].get<double>()) << name;
    EXPECT_DOUBLE_EQ(o.ratio(), expected["overlap_ratio"].get<double>()) << name;
    if (expected.contains("exposed_comm_us")) {
      EXPECT_DOUBLE_EQ(o.exposed(), expected["exposed_comm_us"].get<double>()) << name;
    }
  }
}

TEST(Overlap, CaseStraggler) {
  const auto file = test::case_file("trace/straggler.json");
  if (!file) return;
  const auto enter = (*file)["enter_us"].get<std::vector<double>>();
  const auto leave = (*file)["leave_us"].get<std::vector<double>>();
  std::vector<double> stays;
  for (std::size_t r = 0; r < enter.size(); ++r) stays.push_back(leave[r] - enter[r]);
  for (std::size_t r = 0; r < enter.size(); ++r) {
    EXPECT_EQ(transfer_time(stays), (*file)["expect"]["transfer_us"][r].get<double>());
    EXPECT_EQ(stays[r] - transfer_time(stays), (*file)["expect"]["wait_us"][r].get<double>());
  }
}

}  // namespace
}  // namespace annulus
