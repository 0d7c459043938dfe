// See metrics.h.
#include "engine/metrics.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

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

}  // namespace

std::string timestamp(std::chrono::system_clock::time_point time) {
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03d}Z",
                     fmt::gmtime(static_cast<std::time_t>(milliseconds / 1000)),
                     milliseconds % 1000);
}

std::string epoch_line(const EpochMetrics& m) {
  std::string line = fmt::format(
      "{} epoch={} loss={:.4f} accuracy={:.4f} val_loss={:.4f} val_accuracy={:.4f} "
      "images_per_sec={:.1f}",
      timestamp(m.time), m.epoch, m.loss, m.accuracy, m.validation.loss, m.validation.accuracy,
      m.images_per_second());
  if (m.overlap && m.overlap->steps) {
    line +=
        fmt::format(" step_ms={:.2f} overlap={:.3f} exposed_ms={:.3f} waiting_ms={:.3f}",
                    m.overlap->step, m.overlap->overlap, m.overlap->exposed, m.overlap->waiting);
    if (std::isfinite(m.overlap->interference))
      line += fmt::format(" interference={:.3f}", m.overlap->interference);
  }
  return line;
}

std::string epoch_json(const EpochMetrics& m) {
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
  if (m.overlap && m.overlap->steps) line["communication"] = overlap_json(*m.overlap);
  return line.dump();
}

}  // namespace annulus
