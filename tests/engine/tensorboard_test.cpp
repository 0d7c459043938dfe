// The event file of a run, as readers see it: the framing taken apart by the test, checksums
// against published ones, and TensorBoard itself where python3 has it.
#include "engine/tensorboard.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>

#include "engine/metrics.h"
#include "engine/tensorboard_event.pb.h"
#include "engine/tfrecord.h"
#include "tests/engine/files.h"

namespace annulus {
namespace {

using Events = std::vector<tensorboard::Event>;

template <class Integer>
Integer number_at(const std::string& bytes, std::size_t offset) {
  Integer value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::uint32_t unmasked(std::uint32_t crc) {
  crc -= 0xa282ead8u;
  return (crc >> 17) | (crc << 15);
}

// Takes a file of records apart, as readers do.
Events read_events(const std::string& bytes) {
  Events events;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = number_at<std::uint64_t>(bytes, at);
    EXPECT_EQ(unmasked(number_at<std::uint32_t>(bytes, at + 8)), crc32c(bytes.substr(at, 8)));
    const std::string payload = bytes.substr(at + 12, length);
    EXPECT_EQ(payload.size(), length);
    EXPECT_EQ(unmasked(number_at<std::uint32_t>(bytes, at + 12 + length)), crc32c(payload));
    EXPECT_TRUE(events.emplace_back().ParseFromString(payload));
    at += 12 + length + 4;
  }
  return events;
}

std::map<std::string, float> scalars_of(const tensorboard::Event& event) {
  std::map<std::string, float> scalars;
  for (const auto& value : event.summary().value()) scalars[value.tag()] = value.simple_value();
  return scalars;
}

EpochMetrics metrics_of(std::uint32_t epoch) {
  EpochMetrics m;
  m.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1767323045250));
  m.epoch = epoch;
  m.updates = 40 * epoch;
  m.loss = 2.5 / epoch;
  m.accuracy = 0.25 * epoch;
  m.validation = {100, 3.0 / epoch, 0.125 * epoch};
  m.overlap = OverlapReport{.steps = 5, .overlap = 0.5, .exposed = 0.75};
  return m;
}

class TensorBoard : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::vector<std::filesystem::path> event_files() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().extension() == ".annulus") paths.push_back(entry.path());
    return paths;
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("annulus-tensorboard-" + std::to_string(::getpid()));
};

// RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
TEST_F(TensorBoard, ChecksumsAreThePublishedOnes) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

// As TensorFlow's RecordWriter frames it.
TEST_F(TensorBoard, FramesAreTensorFlows) {
  const std::string record = tfrecord("abc");
  EXPECT_EQ(record.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(number_at<std::uint64_t>(record, 0), 3u);
  EXPECT_EQ(record.substr(12, 3), "abc");
  EXPECT_EQ(number_at<std::uint32_t>(tfrecord("123456789"), 12 + 9),
            ((0xe3069283u >> 15) | (0xe3069283u << 17)) + 0xa282ead8u);
}

TEST_F(TensorBoard, ScalarsOfEachEpochAtTheirUpdateAndTime) {
  TensorBoardFile file(folder_);
  file.add(epoch_json(metrics_of(1)));
  EpochMetrics second = metrics_of(2);
  second.validation.loss = std::numeric_limits<double>::infinity();
  second.overlap.reset();
  file.add(epoch_json(second));

  ASSERT_EQ(event_files().size(), 1u);
  const Events events = read_events(test::slurp(event_files()[0]));
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[1].session_log().status(), tensorboard::SessionLog::START);
  EXPECT_DOUBLE_EQ(events[2].wall_time(), 1767323045.25);
  EXPECT_EQ(events[2].step(), 40);
  const auto first_scalars = scalars_of(events[2]), second_scalars = scalars_of(events[3]);
  EXPECT_EQ(first_scalars.at("loss/train"), 2.5f);
  EXPECT_EQ(first_scalars.at("accuracy/val"), 0.125f);
  EXPECT_EQ(first_scalars.at("communication/exposed_ms"), 0.75f);
  EXPECT_TRUE(std::isnan(second_scalars.at("loss/val")));
  EXPECT_EQ(second_scalars.count("communication/overlap"), 0u);
}

TEST_F(TensorBoard, AnotherStartGoesOnBehindTheWholeRecords) {
  TensorBoardFile(folder_).add(epoch_json(metrics_of(1)));
  const std::filesystem::path file = event_files().at(0);
  const std::size_t whole = std::filesystem::file_size(file);
  for (const std::size_t cut_off : {1, 7, 11, 12, 40, 100}) {
    std::ofstream(file, std::ios::app) << std::string(cut_off, 'x');
    EXPECT_EQ(whole_tfrecords(test::slurp(file)), whole) << cut_off;
    std::filesystem::resize_file(file, whole);
  }
  std::ofstream(file, std::ios::app) << tfrecord("cut off").substr(0, 20);

  TensorBoardFile(folder_).add(epoch_json(metrics_of(2)));
  ASSERT_EQ(event_files().size(), 1u);
  const Events events = read_events(test::slurp(file));
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[2].step(), 40);
  EXPECT_EQ(events[4].session_log().status(), tensorboard::SessionLog::START);
  EXPECT_EQ(events[4].step(), 0);
  EXPECT_EQ(events[5].step(), 80);
}

// Prints "TAG STEP VALUE" as TensorBoard's own reader sees the folder while a run is stopped after
// epoch 3 and goes on from epoch 2.
constexpr const char* kReader = R"(
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
for line in sys.stdin:
    events.Reload()
    for tag in events.Tags()["scalars"]:
        for event in events.Scalars(tag):
            print(tag, event.step, event.value)
    print("end", flush=True)
)";

TEST_F(TensorBoard, TensorBoardReadsItAlsoWhileARunResumes) {
  if (std::system("python3 -c 'import tensorboard' 2>/dev/null") != 0)
    GTEST_SKIP() << "skipped: python3 has no tensorboard (PyPI)";
  std::ofstream(folder_ / "reader.py") << kReader;
  const std::string output = folder_ / "read",
                    command = "python3 " + (folder_ / "reader.py").string() + " " +
                              folder_.string() + " >" + output + " 2>/dev/null";
  FILE* reader = popen(command.c_str(), "w");
  std::size_t said = 0;
  const auto seen = [&] {
    std::fputs("reload\n", reader);
    std::fflush(reader);
    std::string text;
    for (int wait = 0; wait < 6000 && !text.ends_with("end\n"); ++wait) {
      ::usleep(20000);
      text = test::slurp(output).substr(said);
    }
    said += text.size();
    return text;
  };

  {
    TensorBoardFile file(folder_);
    for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) file.add(epoch_json(metrics_of(epoch)));
    EXPECT_NE(seen().find("accuracy/train 120 0.75\n"), std::string::npos);
  }
  TensorBoardFile file(folder_);
  for (const std::uint32_t epoch : {1, 2}) file.add(epoch_json(metrics_of(epoch)));
  const std::string resumed = seen();
  EXPECT_NE(resumed.find("accuracy/train 40 0.25\naccuracy/train 80 0.5\n"), std::string::npos)
      << resumed;
  EXPECT_EQ(resumed.find("accuracy/train 120"), std::string::npos) << resumed;
  pclose(reader);
}

}  // namespace
}  // namespace annulus
