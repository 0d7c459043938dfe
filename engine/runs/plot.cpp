// See plot.h.
#include "engine/runs/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "engine/runs/chart.h"
#include "kernels/check.h"

namespace annulus::runs {
namespace {

struct Shown {
  const char* metric;
  const char* title;
  YAxis y_axis;
  const char* validation;  // shown too, before the metric; null: none
};
constexpr Shown kShown[] = {
    {"accuracy", "accuracy", YAxis::fitted, "val_accuracy"},
    {"loss", "loss", YAxis::fitted, "val_loss"},
    {"images_per_sec", "images per second", YAxis::from_zero, nullptr},
    {"overlap", "overlap: share of communication behind layers", YAxis::share, nullptr},
};
constexpr const char* kOptional = "overlap";  // left out where it was not recorded

// The seconds that a run had trained and evaluated at the end of each epoch: pauses between a stop
// and a resume do not count.
std::vector<double> seconds_at_ends(const RunRecord& run) {
  std::vector<double> seconds;
  double sum = 0;
  for (const Json& epoch : run.epochs) {
    for (const char* part : {"train_seconds", "evaluation_seconds"})
      if (const double s = number_of(epoch, part); std::isfinite(s)) sum += s;
    seconds.push_back(sum);
  }
  return seconds;
}

struct XAxis {
  std::string title;
  bool whole;
  std::vector<std::vector<double>> values;  // [run][epoch]
};

XAxis time_axis(const std::vector<RunRecord>& runs) {
  XAxis x{.title = {}, .whole = false, .values = {}};
  double longest = 0;
  for (const RunRecord& run : runs) {
    x.values.push_back(seconds_at_ends(run));
    if (!x.values.back().empty()) longest = std::max(longest, x.values.back().back());
  }
  constexpr double kMinute = 60, kHour = 3600;
  const double unit = longest > 3 * kHour ? kHour : longest > 5 * kMinute ? kMinute : 1;
  for (std::vector<double>& of_run : x.values)
    for (double& value : of_run) value /= unit;
  x.title = unit == kHour ? "hours" : unit == kMinute ? "minutes" : "seconds";
  x.title += " of training and evaluation";
  return x;
}

XAxis x_axis(const std::vector<RunRecord>& runs, const std::string& name) {
  if (name == "time") return time_axis(runs);
  XAxis x{.title = name, .whole = true, .values = {}};
  for (const RunRecord& run : runs) {
    std::vector<double>& values = x.values.emplace_back();
    for (const Json& epoch : run.epochs) values.push_back(number_of(epoch, name));
  }
  return x;
}

// What an axis can span: too small a number is 0, too large a one a gap.
double drawable(double value) {
  constexpr double kSmallest = 1e-300, kLargest = 1e300;
  if (std::abs(value) < kSmallest) return 0;
  return std::abs(value) <= kLargest ? value : std::numeric_limits<double>::quiet_NaN();
}

// Nothing where no run recorded it.
std::vector<Curve> curves_of(const std::vector<RunRecord>& runs, const XAxis& x,
                             const std::string& metric, bool secondary) {
  std::vector<Curve> curves;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Curve curve{.run = r, .what = metric, .secondary = secondary, .points = {}};
    bool any = false;
    for (std::size_t e = 0; e < runs[r].epochs.size(); ++e) {
      const double y = drawable(number_of(runs[r].epochs[e], metric));
      if (!std::isfinite(drawable(x.values[r][e]))) continue;
      curve.points.push_back({x.values[r][e], y});
      any |= std::isfinite(y);
    }
    if (any) curves.push_back(std::move(curve));
  }
  return curves;
}

Panel panel_of(const std::vector<RunRecord>& runs, const XAxis& x, const std::string& metric) {
  const auto* shown = std::ranges::find(kShown, metric, &Shown::metric);
  if (shown == std::end(kShown))
    return {.title = metric, .y_axis = YAxis::fitted, .curves = curves_of(runs, x, metric, false)};
  Panel panel{.title = shown->title, .y_axis = shown->y_axis, .curves = {}};
  if (shown->validation) panel.curves = curves_of(runs, x, shown->validation, false);
  std::ranges::move(curves_of(runs, x, metric, shown->validation != nullptr),
                    std::back_inserter(panel.curves));
  return panel;
}

std::set<std::string> recorded_metrics(const std::vector<RunRecord>& runs) {
  std::set<std::string> names;
  for (const RunRecord& run : runs)
    for (const Json& epoch : run.epochs)
      for (const Json* part :
           {&epoch, epoch.contains("communication") ? &epoch["communication"] : &epoch})
        for (const auto& [name, value] : part->items())
          if (value.is_number()) names.insert(name);
  return names;
}

[[noreturn]] void fail_without(const std::string& metric, const std::vector<RunRecord>& runs) {
  std::string names;
  for (const std::string& name : recorded_metrics(runs))
    names += (names.empty() ? "" : ", ") + name;
  throw UserError(ExitCode::usage,
                  "--metric " + metric + ": no run recorded it; there are: " + names);
}

bool has_secondary(const Panel& panel) {
  return std::ranges::any_of(panel.curves, &Curve::secondary);
}

}  // namespace

std::string plot(const std::vector<RunRecord>& runs, const PlotOptions& options) {
  if (std::ranges::all_of(runs, [](const RunRecord& run) { return run.epochs.empty(); }))
    throw UserError(ExitCode::data,
                    "nothing to plot: no run has finished an epoch; wait for the first line of its "
                    "metrics.jsonl");
  const XAxis x = x_axis(runs, options.x);
  Chart chart{.runs = {}, .x_title = x.title, .whole_x = x.whole, .key = {}, .panels = {}};
  for (const RunRecord& run : runs) chart.runs.push_back(run.name);

  std::vector<std::string> metrics = options.metrics;
  if (metrics.empty())
    for (const Shown& shown : kShown) metrics.emplace_back(shown.metric);
  for (const std::string& metric : metrics) {
    Panel panel = panel_of(runs, x, metric);
    if (!panel.curves.empty())
      chart.panels.push_back(std::move(panel));
    else if (!options.metrics.empty() || metric != kOptional)
      fail_without(metric, runs);
  }
  if (std::ranges::any_of(chart.panels, has_secondary))
    chart.key = "lines and dots: validation; dashed lines and rings: training";
  return draw(chart);
}

}  // namespace annulus::runs
