// See run_record.h.
#include "engine/runs/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include "engine/metrics.h"
#include "kernels/check.h"

namespace annulus::runs {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double number_at(const Json& json, const Json::json_pointer& pointer) {
  return json.contains(pointer) && json.at(pointer).is_number() ? json.at(pointer).get<double>()
                                                                : kUnknown;
}

// Nothing of a run is nested deeply; what is would be no config but an attack on the stack.
bool shallow(int depth, Json::parse_event_t /*event*/, const Json& /*parsed*/) {
  constexpr int kDeepest = 16;
  return depth < kDeepest;
}

Json read_config(const std::filesystem::path& path, std::vector<std::string>& notes) {
  std::ifstream stream(path);
  if (!stream) {
    notes.emplace_back("config.json cannot be opened");
    return Json::object();
  }
  Json config = Json::parse(stream, shallow, false);
  if (config.is_object()) return config;
  notes.emplace_back("config.json is damaged");
  return Json::object();
}

std::vector<Json> read_epochs(const std::filesystem::path& path, std::vector<std::string>& notes) {
  MetricsFile metrics = read_metrics(path);
  if (metrics.unreadable_lines)
    notes.push_back(fmt::format("metrics.jsonl: {} of {} lines cannot be read",
                                metrics.unreadable_lines,
                                metrics.unreadable_lines + metrics.epochs.size()));
  std::ranges::stable_sort(metrics.epochs, {},
                           [](const Json& epoch) { return epoch["epoch"].get<std::uint64_t>(); });
  return std::move(metrics.epochs);
}

bool is_event(const Json& line) {
  return line.is_object() && line.contains("event") && line["event"].is_string();
}

// The lines of starts.jsonl; a cut one is left out, as the run then only seems to have stopped
// earlier.
std::vector<Json> read_events(const std::filesystem::path& path) {
  std::vector<Json> events;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return events;  // a pipe would wait for ever
  std::ifstream stream(path);
  for (std::string text; std::getline(stream, text);)
    if (Json line = Json::parse(text, shallow, false); is_event(line))
      events.push_back(std::move(line));
  return events;
}

Time last_write(const std::filesystem::path& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  return error ? Time{} : std::chrono::file_clock::to_sys(time);
}

std::optional<Time> time_of(const Json& line) {
  if (!line.contains("time") || !line["time"].is_string()) return std::nullopt;
  return parse_timestamp(line["time"].get<std::string>());
}

std::chrono::milliseconds duration_of(const Json& epoch) {
  const double seconds = number_of(epoch, "train_seconds") + number_of(epoch, "evaluation_seconds");
  return std::chrono::milliseconds(std::isfinite(seconds) ? std::llround(seconds * 1e3) : 0);
}

// The first start, or the begin of the first epoch, or what the files' times say.
Time start_of(const RunRecord& run, const std::vector<Json>& events) {
  if (!events.empty())
    if (const auto time = time_of(events.front())) return *time;
  if (!run.epochs.empty()) return *time_of(run.epochs.front()) - duration_of(run.epochs.front());
  return run.changed;
}

// The newest last.
std::vector<RunRecord> runs_inside(const std::filesystem::path& folder) {
  std::vector<RunRecord> runs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (is_run(entry.path())) runs.push_back(read_run(entry.path()));
  if (error)
    throw UserError(ExitCode::data, fmt::format("{}: {}; name run folders, or a folder of them",
                                                folder.string(), error.message()));
  std::ranges::sort(runs, {},
                    [](const RunRecord& run) { return std::pair(run.started, run.name); });
  return runs;
}

// Runs of one name are called by the paths that were given.
void tell_apart(std::vector<RunRecord>& runs) {
  std::map<std::string, int> count;
  for (const RunRecord& run : runs) ++count[run.name];
  for (RunRecord& run : runs)
    if (count[run.name] > 1) run.name = run.folder.lexically_normal().string();
}

}  // namespace

double RunRecord::config_number(const char* pointer) const {
  return number_at(config, Json::json_pointer(pointer));
}

std::string RunRecord::config_text(const char* pointer) const {
  const Json::json_pointer at(pointer);
  return config.contains(at) && config.at(at).is_string() ? config.at(at).get<std::string>() : "";
}

double RunRecord::updates_done() const {
  double done = 0;
  if (!epochs.empty()) done = std::fmax(done, number_of(epochs.back(), "updates"));
  if (is_event(last_event)) done = std::fmax(done, number_of(last_event, "updates"));
  return done;
}

double RunRecord::epochs_planned() const {
  const double epochs = config_number("/recipe/epochs");
  if (!(config_number("/max_steps") > 0)) return epochs;
  const double batches = config_number("/data/train_images") / config_number("/global_batch");
  const bool drop_last = config.value(Json::json_pointer("/drop_last"), Json(false)) == true;
  const double steps = drop_last ? std::floor(batches) : std::ceil(batches);
  return std::fmin(epochs, std::ceil(updates_planned() / steps));
}

bool RunRecord::finished() const { return updates_done() >= updates_planned(); }

bool RunRecord::stopped() const {
  return is_event(last_event) && last_event["event"] == "stopped" && !finished();
}

bool RunRecord::failed() const { return is_event(last_event) && last_event["event"] == "failed"; }

double number_of(const Json& epoch, const std::string& name) {
  const double own = number_at(epoch, Json::json_pointer() / name);
  return std::isfinite(own) ? own : number_at(epoch, Json::json_pointer("/communication") / name);
}

RunRecord read_run(const std::filesystem::path& folder) {
  RunRecord run;
  run.folder = folder;
  std::error_code error;
  const auto absolute = std::filesystem::canonical(folder, error);
  run.name = (error ? folder : absolute).filename().string();
  run.config = read_config(folder / "config.json", run.notes);
  run.epochs = read_epochs(folder / "metrics.jsonl", run.notes);
  const std::vector<Json> events = read_events(folder / "starts.jsonl");
  if (!events.empty()) run.last_event = events.back();
  run.changed = Time{};
  for (const char* file : {"config.json", "metrics.jsonl", "starts.jsonl"})
    run.changed = std::max(run.changed, last_write(folder / file));
  run.started = start_of(run, events);
  return run;
}

bool is_run(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::is_regular_file(folder / "config.json", error) ||
         std::filesystem::is_regular_file(folder / "metrics.jsonl", error);
}

std::vector<RunRecord> read_runs(const std::vector<std::filesystem::path>& folders) {
  std::vector<RunRecord> runs;
  for (const std::filesystem::path& folder : folders) {
    std::vector<RunRecord> found;
    if (is_run(folder))
      found.push_back(read_run(folder));
    else
      found = runs_inside(folder);
    std::ranges::move(found, std::back_inserter(runs));
  }
  tell_apart(runs);
  return runs;
}

}  // namespace annulus::runs
