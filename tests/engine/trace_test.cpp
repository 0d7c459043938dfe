// The trace file: units, fractions, and clocks that differ by seconds. The public cases are
// ../shared's P01, P04 and P10.
#include "engine/trace.h"

#include <gtest/gtest.h>

#include "tests/case_files.h"

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json> complete_events(const Json& trace) {
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X") events.push_back(event);
  return events;
}

StepTimes one_step(double begin_ms) {
  return {.update = 7,
          .begin = begin_ms,
          .calls = {{"conv1", {1.0, 3.5}}, {"conv1", {3.5, 3.50025}}},
          .buckets = {{.ready = 3, .started = 3, .ended = 4, .update = {4, 4.5}}}};
}

TEST(Trace, TimesAreMicrosecondsWithTheirFractions) {
  const Json trace = merge_traces({trace_of({one_step(2)})}, "");
  const std::vector<Json> events = complete_events(trace);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_DOUBLE_EQ(events[0]["ts"], 3000);
  EXPECT_DOUBLE_EQ(events[0]["dur"], 2500);
  EXPECT_EQ(events[0]["name"], "conv1 forward");
  EXPECT_EQ(events[1]["name"], "conv1 backward");
  EXPECT_NEAR(events[1]["dur"].get<double>(), 0.25, 1e-9);  // 250 ns are not 0
  EXPECT_EQ(events[2]["tid"], "communication");
  EXPECT_EQ(events[3]["tid"], "update");
}

TEST(Trace, RanksMeetAtTheEndOfTheMark) {
  const auto ranks = std::vector{trace_of({one_step(2)}), trace_of({one_step(5000.5)})};
  const std::string mark = ranks[0][2].name;
  const Json trace = merge_traces(ranks, mark);
  const std::vector<Json> events = complete_events(trace);
  EXPECT_NEAR(events[0]["ts"], events[4]["ts"], 1e-6);
  EXPECT_EQ(events[4]["pid"], 1);
  EXPECT_NE(trace["metadata"]["aligned_on"].get<std::string>().find(mark), std::string::npos);
}

TEST(Trace, WithoutAMarkTheFileSaysSo) {
  const Json trace = merge_traces({trace_of({one_step(2)}), {}}, "all-reduce of bucket 0, step 8");
  EXPECT_TRUE(trace["metadata"].contains("clocks"));
  EXPECT_FALSE(trace["metadata"].contains("aligned_on"));
}

TEST(Trace, CaseUnits) {
  const auto file = test::case_file("trace/units.json");
  if (!file) return;
  const double begin_ms = (*file)["start_ns"].get<double>() * 1e-6;
  const double end_ms = (*file)["end_ns"].get<double>() * 1e-6;
  StepTimes step{.begin = 0, .calls = {{"x", {begin_ms, end_ms}}}, .buckets = {}};
  const std::vector<Json> events = complete_events(merge_traces({trace_of({step})}, ""));
  EXPECT_DOUBLE_EQ(events[0]["ts"], (*file)["expect"]["ts"].get<double>());
  EXPECT_DOUBLE_EQ(events[0]["dur"], (*file)["expect"]["dur"].get<double>());
}

TEST(Trace, CaseTwoRanks) {
  const auto file = test::case_file("trace/two_ranks.json");
  if (!file) return;
  std::vector<std::vector<TraceEvent>> ranks;
  for (const char* name : {"rank0", "rank1"}) {
    ranks.emplace_back();
    for (const auto& e : (*file)[name]) {
      const double begin = e["ts"], length = e["dur"];
      ranks.back().push_back({e["name"], "compute", {begin, begin + length}});
    }
  }
  const auto& expected = (*file)["expect"];
  EXPECT_DOUBLE_EQ(clock_offsets(ranks, "barrier").at(1), expected["offset_us"].get<double>());
  const std::vector<Json> events = complete_events(merge_traces(ranks, "barrier"));
  const auto end = [](const Json& e) { return e["ts"].get<double>() + e["dur"].get<double>(); };
  EXPECT_DOUBLE_EQ(events[3]["ts"].get<double>() - events[1]["ts"].get<double>(),
                   expected["start_skew_us"].get<double>());
  EXPECT_DOUBLE_EQ(end(events[3]) - end(events[1]), expected["end_skew_us"].get<double>());
}

}  // namespace
}  // namespace annulus
