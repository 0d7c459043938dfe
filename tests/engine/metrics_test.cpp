// What programs read from a run: the epoch line through Katib's filters, metrics.jsonl as strict
// JSON, the file for Katib's JSON collector, and all of them again after a resume.
#include <gtest/gtest.h>

#include <clocale>
#include <fstream>
#include <limits>
#include <locale>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/katib.h"
#include "engine/metrics.h"
#include "tests/pattern.h"

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

using Found = std::multimap<std::string, std::string>;

// What a filter of Katib's StdOut collector finds: names and values.
Found katib_finds(const std::string& filter, const std::string& text) {
  Found found;
  for (const test::Groups& match : test::all_matches(text, filter))
    found.emplace(match[1], match[2]);
  return found;
}

// The default of kubeflow/katib today, and the one before its issue 1086.
const std::string kKatibFilter = R"(([\w|-]+)\s*=\s*([+-]?\d*(\.\d+)?([Ee][+-]?\d+)?))";
const std::string kOldKatibFilter = R"(([\w|-]+)\s*=\s*((-?\d+)(\.\d+)?))";

TEST(Metrics, TimestampIsUtcWithMilliseconds) {
  EXPECT_EQ(timestamp(example().time), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(parse_timestamp("2026-01-02T03:04:05.678Z"), example().time);
  for (const char* wrong : {"", "2026-01-02", "2026-01-02T03:04:05.678", "yesterday"})
    EXPECT_EQ(parse_timestamp(wrong), std::nullopt) << wrong;
}

TEST(Metrics, EpochLineThroughKatibsFilter) {
  const Found found = katib_finds(kKatibFilter, epoch_line(example()));
  const Found expected{
      {"epoch", "3"},           {"loss", "1.6169"},         {"accuracy", "0.4459"},
      {"val_loss", "888.3300"}, {"val_accuracy", "0.7210"}, {"images_per_sec", "401.3"}};
  EXPECT_EQ(found, expected);
}

TEST(Metrics, AllKatibFiltersReadTheSameNumber) {
  for (const double value : {888.33, 7.53e-05, 1e+32, 0.0, 1.0, 1234567.5}) {
    EpochMetrics m = example();
    m.loss = value;
    const std::string line = epoch_line(m);
    const auto of_loss = [&](const std::string& filter) {
      return katib_finds(filter, line).find("loss")->second;
    };
    EXPECT_NEAR(std::stod(of_loss(kKatibFilter)), value, 5e-4 * value);
    EXPECT_EQ(of_loss(kOldKatibFilter), of_loss(kKatibFilter)) << line;
  }
}

// A name with an empty value would end an experiment of Katib's.
TEST(Metrics, NoNumberIsNoPair) {
  EpochMetrics m = example();
  m.validation.loss = std::numeric_limits<double>::quiet_NaN();
  const std::string line = epoch_line(m);
  EXPECT_EQ(katib_finds(kKatibFilter, line).count("val_loss"), 0) << line;
  EXPECT_EQ(katib_finds(kKatibFilter, line).count("val_accuracy"), 1) << line;
  EXPECT_NE(line.find(" val_loss:nan "), std::string::npos) << line;
}

// As the collector in Go does: an object whose values are strings; a number would be skipped.
TEST(Metrics, KatibLineHoldsStringsInPlainDecimals) {
  EpochMetrics m = example();
  m.validation = {10000, std::numeric_limits<double>::infinity(), 0.1 + 0.2};
  m.learning_rate = 7.53e-05;
  m.overlap = OverlapReport{.steps = 5, .overlap = 0.93, .interference = NAN};
  const auto line = nlohmann::json::parse(katib_line(epoch_json(m)));
  const std::map<std::string, std::string> strings = line;  // throws at any other type
  EXPECT_EQ(strings.at("timestamp"), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(strings.at("accuracy"), "0.4459");
  EXPECT_EQ(strings.at("learning_rate"), "0.0000753");
  EXPECT_EQ(strings.at("val_accuracy"), "0.30000000000000004");
  EXPECT_EQ(strings.at("epoch"), "3");
  EXPECT_EQ(strings.at("overlap"), "0.93");
  for (const char* not_finite : {"val_loss", "interference"})
    EXPECT_EQ(strings.count(not_finite), 0) << not_finite;
}

class GermanNumbers : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

// In both kinds of locale, C's where this machine has one that writes numbers otherwise.
TEST(Metrics, NumbersDoNotFollowTheLocale) {
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new GermanNumbers));
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
    if (std::setlocale(LC_ALL, name)) break;
  EpochMetrics m = example();
  m.loss = 1234567.5;
  m.samples = 5000000;
  const std::string line = epoch_line(m);
  const auto json = epoch_json(m);
  const std::string written = json.dump(), katib = katib_line(json);
  const double read = nlohmann::json::parse(written)["loss"].get<double>();
  std::setlocale(LC_ALL, "C");
  std::locale::global(before);
  EXPECT_NE(line.find(" loss=1234567.5000 "), std::string::npos) << line;
  EXPECT_NE(written.find(R"("samples":5000000,"loss":1234567.5,)"), std::string::npos) << written;
  EXPECT_NE(katib.find(R"("samples":"5000000","loss":"1234567.5",)"), std::string::npos) << katib;
  EXPECT_EQ(read, 1234567.5);
}

TEST(Metrics, JsonHasNoNaN) {
  EpochMetrics m = example();
  m.loss = std::numeric_limits<double>::quiet_NaN();
  m.validation.loss = std::numeric_limits<double>::infinity();
  const auto line = nlohmann::json::parse(epoch_json(m).dump());
  EXPECT_TRUE(line["loss"].is_null());
  EXPECT_TRUE(line["val_loss"].is_null());
  EXPECT_EQ(line["updates"], 147);
  EXPECT_NEAR(line["accuracy"].get<double>(), 0.4459, 1e-12);
}

}  // namespace
}  // namespace annulus
