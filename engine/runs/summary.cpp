// See summary.h.
#include "engine/runs/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/terminal_text.h"

namespace annulus::runs {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double images_per_second(const RunRecord& run) {
  double images = 0, seconds = 0;
  for (const Json& epoch : run.epochs) {
    const double s = number_of(epoch, "train_seconds"), n = number_of(epoch, "samples");
    if (!std::isfinite(s + n)) continue;
    images += n;
    seconds += s;
  }
  return seconds > 0 ? images / seconds : kUnknown;
}

// A run writes after each epoch; one that was silent for three of them runs no more.
bool may_be_running(const RunRecord& run, Time now) {
  double longest = 60;  // seconds
  for (const Json& epoch : run.epochs)
    longest = std::max(longest, 3 * number_of(epoch, "train_seconds") +
                                    3 * number_of(epoch, "evaluation_seconds"));
  return std::chrono::duration<double>(now - run.changed).count() < longest;
}

std::string state_of(const RunRecord& run, Time now) {
  if (run.finished()) return "finished";
  if (run.failed()) return fmt::format("failed after update {:.0f}", run.updates_done());
  if (!run.stopped() && may_be_running(run, now)) return "running?";
  if (run.updates_done() == 0) return "no epoch";
  const std::string done = fmt::format("{:.0f}", run.updates_done());
  if (std::isnan(run.updates_planned())) return "stopped? at update " + done;
  return fmt::format("stopped at update {} of {:.0f}", done, run.updates_planned());
}

Json number_or_null(double number) {
  if (!std::isfinite(number)) return nullptr;
  if (number == std::floor(number) && std::abs(number) < 1e15)
    return static_cast<std::int64_t>(number);
  return number;
}

}  // namespace

Summary summarise(const RunRecord& run, Time now) {
  Summary s{.name = terminal_text(run.name),
            .model = terminal_text(run.config_text("/model")),
            .data = terminal_text(run.config_text("/data/name")),
            .ranks = run.config_number("/ranks"),
            .virtual_ranks = run.config_number("/virtual_ranks"),
            .batch_size = run.config_number("/batch_size"),
            .epochs_done = run.epochs.empty() ? 0 : number_of(run.epochs.back(), "epoch"),
            .epochs_planned = run.epochs_planned(),
            .updates_done = run.updates_done(),
            .updates_planned = run.updates_planned(),
            .best_val_accuracy = kUnknown,
            .best_epoch = kUnknown,
            .last_val_accuracy = kUnknown,
            .images_per_sec = images_per_second(run),
            .overlap = kUnknown,
            .state = state_of(run, now)};
  for (const Json& epoch : run.epochs) {
    s.last_val_accuracy = number_of(epoch, "val_accuracy");
    s.overlap = number_of(epoch, "overlap");
    if (std::isnan(s.last_val_accuracy) || s.last_val_accuracy <= s.best_val_accuracy) continue;
    s.best_val_accuracy = s.last_val_accuracy;
    s.best_epoch = number_of(epoch, "epoch");
  }
  return s;
}

Json to_json(const Summary& s) {
  return {{"name", s.name},
          {"model", s.model},
          {"data", s.data},
          {"ranks", number_or_null(s.ranks)},
          {"virtual_ranks", number_or_null(s.virtual_ranks)},
          {"batch_size", number_or_null(s.batch_size)},
          {"epochs_done", number_or_null(s.epochs_done)},
          {"epochs_planned", number_or_null(s.epochs_planned)},
          {"updates_done", number_or_null(s.updates_done)},
          {"updates_planned", number_or_null(s.updates_planned)},
          {"best_val_accuracy", number_or_null(s.best_val_accuracy)},
          {"best_epoch", number_or_null(s.best_epoch)},
          {"last_val_accuracy", number_or_null(s.last_val_accuracy)},
          {"images_per_sec", number_or_null(s.images_per_sec)},
          {"overlap", number_or_null(s.overlap)},
          {"state", s.state}};
}

std::string batch_text(const Summary& s) {
  std::string text = number_text(s.ranks, 0);
  if (s.virtual_ranks > 1) text += " x " + number_text(s.virtual_ranks, 0);
  return text + " x " + number_text(s.batch_size, 0);
}

std::string number_text(double number, int places) {
  return std::isnan(number) ? "-" : fmt::format("{:.{}f}", number, places);
}

}  // namespace annulus::runs
