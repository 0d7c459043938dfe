// Small handmade run folders. Used by the tests of engine/runs.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/runs/run_record.h"

namespace annulus::runs {

inline Json example_config() {
  return {{"command", {"annulus", "train"}},
          {"model", "seed-cnn"},
          {"batch_size", 64},
          {"virtual_ranks", 1},
          {"drop_last", false},
          {"ranks", 2},
          {"global_batch", 128},
          {"updates", 24},
          {"max_steps", 0},
          {"recipe", {{"epochs", 3}, {"momentum", 0.9}}},
          {"data", {{"name", "cifar-10"}, {"train_images", 1000}}}};
}

// 1000 images in 8 updates and 2.5 seconds, on day `day` of a month.
inline Json example_epoch(int epoch, double val_accuracy, int day = 1) {
  return {{"time", fmt::format("2026-01-{:02}T03:04:{:02}.000Z", day, 5 * epoch)},
          {"epoch", epoch},
          {"updates", 8 * epoch},
          {"samples", 1000},
          {"loss", 2.5 / epoch},
          {"accuracy", 0.1 * epoch},
          {"val_loss", 3.0 / epoch},
          {"val_accuracy", val_accuracy},
          {"images_per_sec", 400.0},
          {"train_seconds", 2.5},
          {"evaluation_seconds", 0.5}};
}

class RunFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write_run(const std::string& name, const Json& config,
                                  const std::vector<Json>& epochs) const {
    std::string lines;
    for (const Json& epoch : epochs) lines += epoch.dump() + "\n";
    return write_run(name, config.dump(2), lines);
  }
  std::filesystem::path write_run(const std::string& name, const std::string& config,
                                  const std::string& lines) const {
    std::filesystem::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "config.json") << config;
    std::ofstream(folder_ / name / "metrics.jsonl") << lines;
    return folder_ / name;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("annulus-runs-" + std::to_string(::getpid()));
};

}  // namespace annulus::runs
