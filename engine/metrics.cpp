// See metrics.h.
#include "engine/metrics.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>

namespace annulus {
namespace {

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::ordered_json bucket_json(const BucketReport& b) {
  return {{"bytes", b.bytes},       {"ready_ms", b.ready},     {"started_ms", b.started},
          {"ended_ms", b.ended},    {"waiting_ms", b.waiting}, {"transfer_ms", b.transfer},
          {"exposed_ms", b.exposed}};
}

nlohmann::ordered_json overlap_json(const OverlapReport& report) {
  nlohmann::ordered_json buckets = nlohmann::ordered_json::array();
  for (const BucketReport& b : report.buckets) buckets.push_back(bucket_json(b));
  return {{"steps", report.steps},
          {"step_ms", number(report.step)},
          {"overlap", number(report.overlap)},
          {"exposed_ms", number(report.exposed)},
          {"waiting_ms", number(report.waiting)},
          {"compute_ms", number(report.compute)},
          {"interference", number(report.interference)},
          {"buckets", buckets}};
}

bool is_epoch(const nlohmann::ordered_json& line) {
  return line.is_object() && line.contains("epoch") && line["epoch"].is_number_unsigned() &&
         line.contains("time") && line["time"].is_string() &&
         parse_timestamp(line["time"].get<std::string>());
}

}  // namespace

std::string timestamp(std::chrono::system_clock::time_point time) {
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03d}Z",
                     fmt::gmtime(static_cast<std::time_t>(milliseconds / 1000)),
                     milliseconds % 1000);
}

std::optional<std::chrono::system_clock::time_point> parse_timestamp(const std::string& text) {
  std::tm t{};
  int milliseconds = 0, length = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &t.tm_year, &t.tm_mon, &t.tm_mday,
                  &t.tm_hour, &t.tm_min, &t.tm_sec, &milliseconds, &length) != 7 ||
      static_cast<std::size_t>(length) != text.size())
    return std::nullopt;
  t.tm_year -= 1900;
  t.tm_mon -= 1;
  return std::chrono::system_clock::from_time_t(timegm(&t)) +
         std::chrono::milliseconds(milliseconds);
}

std::string name_and_value(const char* name, double value) {
  if (!std::isfinite(value))
    return fmt::format(" {}:{}", name, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  constexpr int kMostPlaces = 12;
  int places = 4;
  if (value != 0 && std::abs(value) < 0.01)
    while (places < kMostPlaces && std::abs(value) * std::pow(10, places) < 1000) ++places;
  return fmt::format(" {}={:.{}f}", name, value, places);
}

std::string epoch_line(const EpochMetrics& m) {
  std::string line = fmt::format("{} epoch={}", timestamp(m.time), m.epoch);
  line += name_and_value("loss", m.loss);
  line += name_and_value("accuracy", m.accuracy);
  line += name_and_value("val_loss", m.validation.loss);
  line += name_and_value("val_accuracy", m.validation.accuracy);
  line += fmt::format(" images_per_sec={:.1f}", m.images_per_second());
  if (m.loss_scale)
    line += fmt::format(" loss_scale={:.0f} skipped={}", m.loss_scale->factor,
                        m.loss_scale->skipped_updates);
  if (m.overlap && m.overlap->steps) {
    line +=
        fmt::format(" step_ms={:.2f} overlap={:.3f} exposed_ms={:.3f} waiting_ms={:.3f}",
                    m.overlap->step, m.overlap->overlap, m.overlap->exposed, m.overlap->waiting);
    if (std::isfinite(m.overlap->interference))
      line += fmt::format(" interference={:.3f}", m.overlap->interference);
  }
  return line;
}

nlohmann::ordered_json epoch_json(const EpochMetrics& m) {
  nlohmann::ordered_json line;
  line["time"] = timestamp(m.time);
  line["epoch"] = m.epoch;
  line["updates"] = m.updates;
  line["samples"] = m.samples;
  line["loss"] = number(m.loss);
  line["accuracy"] = number(m.accuracy);
  line["val_loss"] = number(m.validation.loss);
  line["val_accuracy"] = number(m.validation.accuracy);
  line["val_samples"] = m.validation.samples;
  line["learning_rate"] = number(m.learning_rate);
  line["images_per_sec"] = number(m.images_per_second());
  line["train_seconds"] = number(m.train_seconds);
  line["evaluation_seconds"] = number(m.evaluation_seconds);
  if (m.loss_scale) {
    line["loss_scale"] = m.loss_scale->factor;
    line["skipped_updates"] = m.loss_scale->skipped_updates;
  }
  if (m.overlap && m.overlap->steps) line["communication"] = overlap_json(*m.overlap);
  return line;
}

MetricsFile read_metrics(const std::filesystem::path& path) {
  MetricsFile file;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return file;  // a pipe would wait for ever
  std::ifstream stream(path);
  for (std::string text; std::getline(stream, text);) {
    nlohmann::ordered_json line = nlohmann::ordered_json::parse(text, nullptr, false);
    if (is_epoch(line))
      file.epochs.push_back(std::move(line));
    else
      ++file.unreadable_lines;
  }
  return file;
}

}  // namespace annulus
