// The three numbers, from stamps worked out by hand: what is waiting and what is transfer follows
// from the other rank's stay, the rest from this rank's own intervals.
#include "engine/profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace annulus {
namespace {

// A channel to one other rank, which says what the test wants.
class OtherRank : public ControlChannel {
 public:
  explicit OtherRank(std::vector<double> stays) : stays_(std::move(stays)) {}

  std::vector<std::string> gather(const std::string& mine) override {
    if (gathered_++ > 0) return {mine, mine};  // the reports: equal
    return {mine, {reinterpret_cast<const char*>(stays_.data()), stays_.size() * sizeof(double)}};
  }
  std::string broadcast(const std::string& text) override { return text; }
  void barrier(const char*) override {}
  std::vector<Fact> facts_of(int) const override { return {}; }
  void set_phase(const Phase&) override {}
  std::optional<Loss> lost() const override { return std::nullopt; }
  void on_loss(std::function<void(const Loss&)>) override {}
  void leave(ExitCode, const std::string&) override {}

 private:
  std::vector<double> stays_;
  int gathered_ = 0;
};

// Layers from 0 to 10; bucket 0 hidden behind them but for its wait, bucket 1 behind nothing.
StepTimes step(std::size_t update) {
  return {.update = update,
          .begin = 0,
          .calls = {{"a", {0, 4}}, {"b", {4, 10}}},
          .buckets = {{.ready = 2, .started = 2, .ended = 9, .update = {9, 9.5}},
                      {.ready = 10, .started = 10, .ended = 14, .update = {14, 15}}}};
}

TEST(Profile, WaitingTransferAndExposedApart) {
  Profile profile({{0, 1024}, {1024, 3072}}, 2);
  profile.set_undisturbed(8);
  for (std::size_t update = 0; update < Profile::kWarmUp; ++update) profile.add({});
  profile.add(step(Profile::kWarmUp));
  OtherRank other({1, 6});  // in bucket 0 it came 6 ms later, in bucket 1 2 ms earlier
  const OverlapReport report = profile.report(other);
  EXPECT_EQ(report.steps, 1u);
  ASSERT_EQ(report.buckets.size(), 2u);
  EXPECT_DOUBLE_EQ(report.buckets[0].transfer, 1);
  EXPECT_DOUBLE_EQ(report.buckets[0].waiting, 6);
  EXPECT_DOUBLE_EQ(report.buckets[0].exposed, 0);
  EXPECT_DOUBLE_EQ(report.buckets[1].transfer, 4);
  EXPECT_DOUBLE_EQ(report.buckets[1].waiting, 0);
  EXPECT_DOUBLE_EQ(report.buckets[1].exposed, 4);
  EXPECT_DOUBLE_EQ(report.overlap, 1.0 / 5);
  EXPECT_DOUBLE_EQ(report.exposed, 4);
  EXPECT_DOUBLE_EQ(report.waiting, 0);  // it waited behind its own layers
  EXPECT_DOUBLE_EQ(report.step, 15);
  EXPECT_DOUBLE_EQ(report.compute, 10);
  EXPECT_DOUBLE_EQ(report.interference, 0.25);
}

TEST(Profile, WarmUpIsLeftOutAndNothingIsNothing) {
  Profile profile({{0, 1024}, {1024, 3072}}, 2);
  profile.add(step(0));
  OtherRank other({});
  EXPECT_EQ(profile.report(other).steps, 0u);
}

TEST(Profile, KeepsTheLatestSteps) {
  Profile profile({{0, 1024}}, 2);
  for (std::size_t update = 0; update < 1000; ++update) profile.add(step(update));
  EXPECT_EQ(profile.steps().size(), Profile::kKept);
  EXPECT_EQ(profile.steps().back().update, 999u);
}

TEST(Profile, TheTableHasABusBandwidth) {
  OverlapReport report{.steps = 1, .buckets = {{.bytes = 1'000'000, .transfer = 0.5}}};
  EXPECT_NE(bucket_table(report, 2).find(" 2.00\n"), std::string::npos) << bucket_table(report, 2);
  EXPECT_NE(bucket_table(report, 4).find(" 3.00\n"), std::string::npos);
}

}  // namespace
}  // namespace annulus
