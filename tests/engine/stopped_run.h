// Runs of `annulus train` that are stopped, killed and resumed, in a folder of their own with a
// tiny CIFAR-10 in "data": 120 training images. Used by resume_test, stop_test and kill_test.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tests/data/data_files.h"
#include "tests/engine/annulus_process.h"

namespace annulus::test {

namespace fs = std::filesystem;

class StoppedRun : public testing::Test {
 protected:
  void SetUp() override { write_cifar10(folder_.path() / "data", 24); }

  // `arguments` as a shell would split them at blanks.
  AnnulusProcess start(const std::string& arguments, std::vector<std::string> before = {}) {
    std::vector<std::string> command = std::move(before);
    command.emplace_back(ANNULUS_PROGRAM);
    std::istringstream words(arguments);
    for (std::string word; words >> word;) command.push_back(word);
    return {folder_.path(), "process" + std::to_string(started_++), command, settings_};
  }

  int run(const std::string& arguments, std::vector<std::string> before = {}) {
    AnnulusProcess process = start(arguments, std::move(before));
    const int code = process.code();
    out_ = process.out();
    err_ = process.err();
    EXPECT_EQ(err_.find("annulus cpu device"), std::string::npos) << err_;
    return code;
  }

  fs::path path(const std::string& name) const { return folder_.path() / name; }
  std::string weights(const std::string& name) const {
    return slurp(path(name) / "model.safetensors");
  }
  std::vector<std::string> checkpoints(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path(name) / "checkpoints"))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  // metrics.jsonl without the times.
  std::vector<nlohmann::json> metrics(const std::string& name) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(slurp(path(name) / "metrics.jsonl"));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line));
      for (const char* key :
           {"time", "images_per_sec", "train_seconds", "evaluation_seconds", "communication"})
        lines.back().erase(key);
    }
    return lines;
  }

  void expect_the_same(const std::string& name, const std::string& straight) const {
    EXPECT_EQ(metrics(name), metrics(straight)) << name;
    EXPECT_FALSE(weights(name).empty());
    EXPECT_TRUE(weights(name) == weights(straight)) << name << " has other bits";
  }

  template <class Condition>
  static void wait_for(Condition condition, const char* what) {
    const auto deadline = Clock::now() + 120s;
    while (!condition() && Clock::now() < deadline) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(condition()) << what << " did not come";
  }

  TemporaryFolder folder_;
  std::string tag_ = "ANNULUS_TEST_RUN=" + folder_.path().string();  // of all its processes
  std::vector<std::string> settings_{"ANNULUS_CPU_CHECK=1", tag_};
  std::string out_, err_;
  int started_ = 0;
};

}  // namespace annulus::test
