// See status_body.h.
#include "engine/observe/status_body.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestValue = 64;

// Six digits that tell something, without an exponent; "" for what has no such form.
std::string plain(double value) {
  if (!std::isfinite(value)) return "";
  const std::string rounded = fmt::format("{:.6g}", value);
  double read = 0;
  std::from_chars(rounded.data(), rounded.data() + rounded.size(), read);
  std::array<char, kLongestValue> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), read, std::chars_format::fixed);
  return error == std::errc() ? std::string(text.data(), end) : "";
}

class Metrics {
 public:
  void add(const char* name, std::optional<double> value) {
    const std::string text = value ? plain(*value) : "";
    if (!text.empty()) list_.push_back({{"name", name}, {"value", text}});
  }
  Json list() const { return list_; }

 private:
  Json list_ = Json::array();
};

Json metrics_of(const RunSnapshot& run) {
  Metrics metrics;
  metrics.add("epoch", double(run.epochs));
  metrics.add("updates", double(run.updates));
  metrics.add("loss", run.loss);
  metrics.add("accuracy", run.accuracy);
  metrics.add("images_per_sec", run.images_per_second);
  metrics.add("loss_scale", run.loss_scale);
  if (!run.last) return metrics.list();
  metrics.add("val_loss", run.last->validation.loss);
  metrics.add("val_accuracy", run.last->validation.accuracy);
  metrics.add("learning_rate", run.last->learning_rate);
  if (run.last->overlap && run.last->overlap->steps) {
    const OverlapReport& overlap = *run.last->overlap;
    metrics.add("step_ms", overlap.step);
    metrics.add("overlap", overlap.overlap);
    metrics.add("exposed_ms", overlap.exposed);
    metrics.add("waiting_ms", overlap.waiting);
  }
  return metrics.list();
}

}  // namespace

int progress_percentage(const RunSnapshot& run) {
  if (run.stage == RunSnapshot::Stage::finished) return 100;
  if (run.planned_updates == 0) return 0;
  return static_cast<int>(std::min<std::size_t>(99, 100 * run.updates / run.planned_updates));
}

std::string status_body(const RunSnapshot& run, std::chrono::system_clock::time_point now) {
  Json status{{"progressPercentage", progress_percentage(run)}};
  if (run.seconds_left)
    status["estimatedRemainingSeconds"] = static_cast<std::int32_t>(std::clamp<double>(
        std::ceil(*run.seconds_left), 0, std::numeric_limits<std::int32_t>::max()));
  status["metrics"] = metrics_of(run);
  status["lastUpdatedTime"] =
      fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
  return Json{{"trainerStatus", status}}.dump();
}

}  // namespace annulus
