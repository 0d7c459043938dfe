// What programs read from a run: the epoch line through Katib's default filter, metrics.jsonl as
// strict JSON.
#include <gtest/gtest.h>

#include <clocale>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "engine/metrics.h"

namespace annulus {
namespace {

EpochMetrics example() {
  EpochMetrics m;
  m.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1767323045678));
  m.epoch = 3;
  m.updates = 147;
  m.samples = 50000;
  m.loss = 1.6169;
  m.accuracy = 0.4459;
  m.validation = {10000, 888.33, 0.721};
  m.train_seconds = 124.6;
  return m;
}

TEST(Metrics, TimestampIsUtcWithMilliseconds) {
  EXPECT_EQ(timestamp(example().time), "2026-01-02T03:04:05.678Z");
}

// The default StdOut filter of kubeflow/katib: ([\w|-]+)\s*=\s*([+-]?\d*(\.\d+)?([Ee][+-]?\d+)?)
TEST(Metrics, EpochLineThroughKatibsFilter) {
  const std::regex filter(R"(([\w|-]+)\s*=\s*([+-]?\d*(\.\d+)?([Ee][+-]?\d+)?))");
  const std::string line = epoch_line(example());
  std::map<std::string, std::string> found;
  for (std::sregex_iterator match(line.begin(), line.end(), filter), end; match != end; ++match)
    found[(*match)[1]] = (*match)[2];
  EXPECT_EQ(found["accuracy"], "0.4459");
  EXPECT_EQ(found["loss"], "1.6169");
  EXPECT_EQ(found["val_loss"], "888.3300");
  EXPECT_EQ(found["epoch"], "3");
  EXPECT_EQ(found["images_per_sec"], "401.3");
}

TEST(Metrics, NumbersDoNotFollowTheLocale) {
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_NE(epoch_line(example()).find("loss=1.6169 "), std::string::npos);
  std::setlocale(LC_ALL, "C");
}

TEST(Metrics, JsonHasNoNaN) {
  EpochMetrics m = example();
  m.loss = std::numeric_limits<double>::quiet_NaN();
  m.validation.loss = std::numeric_limits<double>::infinity();
  const auto line = nlohmann::json::parse(epoch_json(m));
  EXPECT_TRUE(line["loss"].is_null());
  EXPECT_TRUE(line["val_loss"].is_null());
  EXPECT_EQ(line["updates"], 147);
  EXPECT_NEAR(line["accuracy"].get<double>(), 0.4459, 1e-12);
}

}  // namespace
}  // namespace annulus
