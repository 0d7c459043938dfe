// See saved_options.h.
#include "engine/cli/saved_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "data/file.h"
#include "kernels/check.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kConfig = "config.json";
constexpr const char* kAutomatic = "auto";
constexpr int kMostRanks = 9999;

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kConfig, ignored);
}

// The run in runs/ whose config.json is the youngest.
std::optional<fs::path> latest_run() {
  std::optional<fs::path> latest;
  fs::file_time_type latest_time;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("runs", error)) {
    const fs::file_time_type time = fs::last_write_time(entry.path() / kConfig, error);
    if (error || (latest && time < latest_time)) continue;
    latest = entry.path();
    latest_time = time;
  }
  return latest;
}

ResumeTarget automatic_target(const std::string& out) {
  if (!out.empty()) return {.run = out, .checkpoint = {}};
  const std::optional<fs::path> latest = latest_run();
  if (!latest)
    throw UserError(ExitCode::usage,
                    "--resume auto: there is no run in runs/ to go on with; name its folder with "
                    "--out");
  return {.run = *latest, .checkpoint = {}};
}

Json read_config(const fs::path& path) {
  Json config = Json::parse(read_file(path), nullptr, false);
  if (!config.is_object())
    throw UserError(ExitCode::data,
                    fmt::format("{}: is not a run's config.json; is it damaged?", path.string()));
  return config;
}

std::string flag_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

// As if the command line had said so. A rate of 0 and a false flag stand for "not given".
void give(CLI::App& app, const std::string& key, const Json& value) {
  CLI::Option* option = app.get_option_no_throw(flag_of(key));
  if (!option || option->count() > 0) return;
  if (!value.is_string() && !value.is_number() && !value.is_boolean())
    throw UserError(ExitCode::data, fmt::format("{} in a run's config.json is {}; is it damaged?",
                                                key, value.dump()));
  const bool flag = option->get_expected_max() == 0;
  if ((flag && value == false) || (key == "lr" && value == 0.)) return;
  option->add_result(value.is_string() ? value.get<std::string>() : value.dump());
  option->run_callback();
}

// What of a run is no option of the command line.
struct Saved {
  std::string data_checksum;
  int ranks;  // in all, where --ranks means those of one node
};

Saved give_all(CLI::App& app, const fs::path& path) try {
  const Json config = read_config(path);
  for (const auto& [key, value] : config.items())
    if (key != "data" && key != "ranks") give(app, key, value);
  for (const auto& [key, value] : config.at("recipe").get<Json::object_t>()) give(app, key, value);
  give(app, "data", config.at("data").at("source"));
  Saved saved{config.at("data").at("sha256"), config.value("ranks", 1)};
  if (saved.ranks < 1 || saved.ranks > kMostRanks)
    throw UserError(ExitCode::data,
                    fmt::format("ranks in a run's config.json is {}; is it damaged?", saved.ranks));
  return saved;
} catch (const Json::exception&) {
  throw UserError(ExitCode::data,
                  fmt::format("{}: is not a run's config.json; is it damaged?", path.string()));
} catch (const CLI::Error& error) {
  throw UserError(ExitCode::usage, fmt::format("{}: {}", path.string(), error.what()));
}

}  // namespace

std::optional<ResumeTarget> resume_target(const TrainCommand& command) {
  if (command.resume.empty()) return std::nullopt;
  if (command.resume == kAutomatic) return automatic_target(command.out);
  const fs::path path = command.resume;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    if (is_run(path)) return ResumeTarget{.run = path, .checkpoint = {}};
  } else if (fs::exists(path, error)) {
    return ResumeTarget{.run = fs::absolute(path).parent_path().parent_path(), .checkpoint = path};
  }
  throw UserError(ExitCode::usage,
                  fmt::format("--resume {}: is neither a run's folder nor a checkpoint; say auto, "
                              "or name one",
                              command.resume));
}

void take_saved_options(CLI::App& app, TrainCommand& command) {
  if (!command.config.empty()) {
    const Saved saved = give_all(app, command.config);
    command.data_checksum = saved.data_checksum;
    command.ranks.ranks_if_alone = saved.ranks;
  }
  const std::optional<ResumeTarget> target = resume_target(command);
  if (!target) return;
  if (is_run(target->run)) {
    command.ranks.ranks_if_alone = give_all(app, target->run / kConfig).ranks;
    if (command.out.empty()) command.out = target->run.string();
  } else if (command.out.empty()) {
    throw UserError(ExitCode::usage,
                    fmt::format("--resume {}: does not lie in a run's folder; name a folder for "
                                "what follows with --out",
                                command.resume));
  }
}

}  // namespace annulus
