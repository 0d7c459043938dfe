// See list.h.
#include "engine/runs/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/runs/summary.h"
#include "engine/runs/table.h"
#include "engine/terminal_text.h"

namespace annulus::runs {
namespace {

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string epochs_text(const Summary& s) {
  return number_text(s.epochs_done, 0) + "/" + number_text(s.epochs_planned, 0);
}

Json summaries_json(const std::vector<RunRecord>& runs, Time now) {
  Json array = Json::array();
  for (const RunRecord& run : runs) {
    Json& summary = array.emplace_back(to_json(summarise(run, now)));
    summary["folder"] = run.folder.string();
    summary["notes"] = run.notes;
  }
  return array;
}

std::string notes_text(const std::vector<RunRecord>& runs) {
  std::string text;
  for (const RunRecord& run : runs)
    for (const std::string& note : run.notes)
      text += fmt::format("note: {}: {}\n", terminal_text(run.folder.string()), note);
  return text.empty() ? "" : "\n" + text;
}

// The settings of a run by their dotted names, in the order of config.json.
void flatten(const Json& config, const std::string& prefix, Json& flat) {
  for (const auto& [name, value] : config.items()) {
    if (prefix.empty() && name == "command") continue;
    if (value.is_object())
      flatten(value, prefix + name + ".", flat);
    else
      flat[prefix + name] = value;
  }
}

// Name -> a value for each run, null where a run does not have it.
Json differences(const std::vector<RunRecord>& runs) {
  std::vector<Json> flat(runs.size(), Json::object());
  Json all = Json::object();
  for (std::size_t r = 0; r < runs.size(); ++r) {
    flatten(runs[r].config, "", flat[r]);
    for (const auto& [name, value] : flat[r].items()) all[name] = Json::array();
  }
  Json different = Json::object();
  for (const auto& [name, values] : all.items()) {
    Json row = Json::array();
    for (const Json& run : flat) row.push_back(run.contains(name) ? run[name] : Json(nullptr));
    if (std::ranges::any_of(row, [&](const Json& value) { return value != row.front(); }))
      different[name] = std::move(row);
  }
  return different;
}

std::string cell(const Json& value) {
  constexpr std::size_t kWidest = 32;
  if (value.is_null()) return "-";
  const std::string text = value.is_string()
                               ? value.get<std::string>()
                               : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return shortened(terminal_text(text), kWidest);
}

// A row for each result of interest, a column for each run.
std::vector<std::vector<std::string>> result_rows(const std::vector<Summary>& summaries) {
  const auto row = [&](const char* name, auto text) {
    std::vector<std::string> cells{name};
    for (const Summary& s : summaries) cells.push_back(text(s));
    return cells;
  };
  return {row("epochs", epochs_text),
          row("best val_accuracy",
              [](const Summary& s) {
                return std::isnan(s.best_epoch) ? "-"
                                                : fmt::format("{:.4f} (epoch {:.0f})",
                                                              s.best_val_accuracy, s.best_epoch);
              }),
          row("last val_accuracy",
              [](const Summary& s) { return number_text(s.last_val_accuracy, 4); }),
          row("images/s", [](const Summary& s) { return number_text(s.images_per_sec, 1); }),
          row("overlap", [](const Summary& s) { return number_text(s.overlap, 3); }),
          row("state", [](const Summary& s) { return s.state; })};
}

std::vector<Summary> summaries_of(const std::vector<RunRecord>& runs, Time now) {
  std::vector<Summary> summaries;
  for (const RunRecord& run : runs) summaries.push_back(summarise(run, now));
  return summaries;
}

}  // namespace

std::string list_text(const std::vector<RunRecord>& runs, Time now) {
  std::vector<std::vector<std::string>> rows{{"run", "model", "data", "ranks x batch", "epochs",
                                              "best", "last", "images/s", "overlap", "state"}};
  for (const Summary& s : summaries_of(runs, now))
    rows.push_back({s.name, or_dash(s.model), or_dash(s.data), batch_text(s), epochs_text(s),
                    number_text(s.best_val_accuracy, 4), number_text(s.last_val_accuracy, 4),
                    number_text(s.images_per_sec, 1), number_text(s.overlap, 3), s.state});
  using enum Align;
  return aligned(rows, {left, left, left, right, right, right, right, right, right, left}) +
         notes_text(runs);
}

std::string list_json(const std::vector<RunRecord>& runs, Time now) {
  return dumped(summaries_json(runs, now));
}

std::string comparison_text(const std::vector<RunRecord>& runs, Time now) {
  const std::vector<Summary> summaries = summaries_of(runs, now);
  std::vector<std::vector<std::string>> rows{{""}};
  for (const Summary& s : summaries) rows[0].push_back(s.name);
  for (auto& row : result_rows(summaries)) rows.push_back(std::move(row));
  rows.push_back({});
  const Json different = differences(runs);
  rows.push_back({different.empty() ? "their settings are the same" : "settings that differ"});
  for (const auto& [name, values] : different.items()) {
    rows.push_back({cell(name)});
    for (const Json& value : values) rows.back().push_back(cell(value));
  }
  return aligned(rows, std::vector<Align>(runs.size() + 1, Align::left)) + notes_text(runs);
}

std::string comparison_json(const std::vector<RunRecord>& runs, Time now) {
  return dumped({{"runs", summaries_json(runs, now)}, {"differences", differences(runs)}});
}

}  // namespace annulus::runs
