// What a run left in its folder, read by those who were not there: config.json, metrics.jsonl and
// starts.jsonl. A file that is missing, cut or damaged never ends the reading: what can be read is
// there, what cannot is a note. Called by `annulus runs` and `annulus plot`.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace annulus::runs {

using Json = nlohmann::ordered_json;
using Time = std::chrono::system_clock::time_point;

struct RunRecord {
  std::filesystem::path folder;
  std::string name;                // the folder's own, or its path among others of that name
  Json config = Json::object();    // empty where it cannot be read
  std::vector<Json> epochs;        // lines of metrics.jsonl, in the order of their updates
  Json last_event;                 // of starts.jsonl (engine/start_log); null: none
  std::vector<std::string> notes;  // what could not be read
  Time started, changed;           // as far as the files tell

  // Of config.json by a JSON pointer ("/recipe/epochs"); NaN, or empty, where it is not there.
  double config_number(const char* pointer) const;
  std::string config_text(const char* pointer) const;

  double updates_done() const;  // up to the last epoch, start or stop
  double updates_planned() const { return config_number("/updates"); }
  double epochs_planned() const;  // NaN: unknown
  bool finished() const;
  bool stopped() const;  // by a signal, with a checkpoint
  bool failed() const;   // the last start ended with an error
};

// A number of an epoch, also of its "communication"; NaN where it is null or not there.
double number_of(const Json& epoch, const std::string& name);

RunRecord read_run(const std::filesystem::path& folder);

bool is_run(const std::filesystem::path& folder);  // holds a config.json or a metrics.jsonl

// The runs that `folders` are, in their order, and those that they hold, the newest last. Throws
// UserError (data) where one of them cannot be read.
std::vector<RunRecord> read_runs(const std::vector<std::filesystem::path>& folders);

}  // namespace annulus::runs
