// What a run says about itself, one line an epoch: on stdout for people and log filters, in
// metrics.jsonl for programs. Numbers on stdout are plain decimals, and no number follows the
// locale, so that every filter reads the same value. Written by engine/report, read by it and by
// engine/runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/evaluate.h"
#include "engine/profile.h"

namespace annulus {

// Of an epoch in fp16.
struct LossScaleMetrics {
  double factor = 0;  // at its end
  std::size_t skipped_updates = 0;
};

struct EpochMetrics {
  std::chrono::system_clock::time_point time;
  std::uint32_t epoch = 0;  // from 1
  std::size_t updates = 0;  // so far
  std::size_t samples = 0;  // trained on in this epoch
  double loss = 0, accuracy = 0;
  Evaluation validation;
  double learning_rate = 0;  // of the last update
  double train_seconds = 0, evaluation_seconds = 0;
  std::optional<LossScaleMetrics> loss_scale;  // where the loss is scaled
  std::optional<OverlapReport> overlap;        // where several ranks train

  double images_per_second() const { return train_seconds > 0 ? samples / train_seconds : 0; }
};

// "2026-01-02T03:04:05.678Z", UTC.
std::string timestamp(std::chrono::system_clock::time_point time);

// The inverse; nothing where `text` does not look so.
std::optional<std::chrono::system_clock::time_point> parse_timestamp(const std::string& text);

// " name=value" with four decimals, and below 0.01 with four digits that tell something;
// " name:nan" where a filter that looks for name=value would find the name and no number.
std::string name_and_value(const char* name, double value);

// "2026-01-02T03:04:05.678Z epoch=3 loss=0.812 accuracy=0.713 val_loss=… val_accuracy=…
// images_per_sec=401.2", in fp16 " loss_scale=65536 skipped=0", and with several ranks "
// step_ms=140.21 overlap=0.93 exposed_ms=0.41 waiting_ms=0.10 interference=0.04".
std::string epoch_line(const EpochMetrics& metrics);

// A line of metrics.jsonl; a number that is not finite is null.
nlohmann::ordered_json epoch_json(const EpochMetrics& metrics);

struct MetricsFile {
  std::vector<nlohmann::ordered_json> epochs;
  std::size_t unreadable_lines = 0;  // cut by a kill or a full disk
};

// Reads what can be read of a metrics.jsonl; a missing file is an empty one.
MetricsFile read_metrics(const std::filesystem::path& path);

}  // namespace annulus
