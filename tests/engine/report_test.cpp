// What Report leaves on disk: metrics.jsonl and the files that follow from it, in a run from its
// begin and in one that was cut back and goes on.
#include "engine/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/check.h"
#include "tests/engine/files.h"

namespace annulus {
namespace {

class ReportTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static EpochMetrics metrics_of(std::uint32_t epoch) {
    EpochMetrics m;
    m.time = std::chrono::system_clock::time_point(std::chrono::seconds(1767323045 + epoch));
    m.epoch = epoch;
    m.updates = 40 * epoch;
    m.samples = 1000;
    m.loss = 2.5 / epoch;
    m.accuracy = 0.1 * epoch;
    m.train_seconds = 3;
    return m;
  }

  std::string katib() const { return test::slurp(folder_ / "katib.json"); }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("annulus-report-" + std::to_string(::getpid()));
  RunFolder run_{folder_};
  TrainOptions options_{.katib_metrics = (folder_ / "katib.json").string()};
};

TEST_F(ReportTest, KatibFileGrowsByWholeLines) {
  Report report(options_, run_);
  EXPECT_EQ(katib(), "");
  for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) {
    report.epoch(metrics_of(epoch));
    std::istringstream lines(katib());
    std::uint32_t count = 0;
    for (std::string line; std::getline(lines, line);)
      EXPECT_EQ(nlohmann::json::parse(line)["epoch"], std::to_string(++count));
    EXPECT_EQ(count, epoch);
    EXPECT_EQ(katib().back(), '\n');
  }
}

// Stopped in epoch 3, after which its last line counts for nothing, and cut by the kill.
TEST_F(ReportTest, AResumedRunsFilesAreThoseOfOneThatWasNotStopped) {
  {
    Report report(options_, run_);
    for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) report.epoch(metrics_of(epoch));
  }
  const std::string whole = katib(), lines = test::slurp(run_.metrics());
  const std::size_t second = lines.find('\n', lines.find('\n') + 1) + 1;
  std::filesystem::resize_file(run_.metrics(), second);
  std::filesystem::resize_file(folder_ / "katib.json", whole.size() - 20);

  Report resumed(options_, run_);
  EXPECT_EQ(read_metrics(run_.metrics()).epochs.size(), 2u);
  EXPECT_EQ(whole.compare(0, katib().size(), katib()), 0) << katib();
  EXPECT_EQ(katib().back(), '\n');
  resumed.epoch(metrics_of(3));
  EXPECT_EQ(katib(), whole);
  EXPECT_EQ(test::slurp(run_.metrics()), lines);
}

TEST_F(ReportTest, ACheckLeavesAnEarlierFileAsItIs) {
  Report(options_, run_).epoch(metrics_of(1));
  const std::string before = katib();
  check_report_files(options_);
  EXPECT_EQ(katib(), before);
}

TEST_F(ReportTest, LinesThatCannotBeReadAreCounted) {
  Report(options_, run_).epoch(metrics_of(1));
  std::ofstream(run_.metrics(), std::ios::app) << "[1]\n"
                                               << R"({"time":"2026-01-02T03)";
  const MetricsFile read = read_metrics(run_.metrics());
  ASSERT_EQ(read.epochs.size(), 1u);
  EXPECT_EQ(read.epochs[0]["updates"], 40);
  EXPECT_EQ(read.unreadable_lines, 2u);
  EXPECT_TRUE(read_metrics(folder_ / "none").epochs.empty());
}

TEST_F(ReportTest, AMissingFolderIsFoundBeforeTheFirstEpoch) {
  options_.katib_metrics = (folder_ / "none/katib.json").string();
  try {
    check_report_files(options_);
    FAIL() << "the file's folder is not there";
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::storage);
    for (const char* part : {"none/katib.json", "--katib-metrics"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace annulus
