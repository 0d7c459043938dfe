// See runs.h. Lists, comparisons and the picture's path go to stdout, all else to stderr.
#include "engine/cli/runs.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "comm/console.h"
#include "data/file_writer.h"
#include "engine/runs/list.h"

namespace annulus {
namespace {

constexpr const char* kDefaultFolder = "runs";

std::vector<std::filesystem::path> paths_of(const std::vector<std::string>& folders) {
  return {folders.begin(), folders.end()};
}

// Two and more runs by name are compared; a folder of runs is listed.
bool are_runs(const std::vector<std::filesystem::path>& folders) {
  return folders.size() > 1 && std::ranges::all_of(folders, runs::is_run);
}

void print(std::string text) {
  text.pop_back();  // its last line's end, which print_line adds
  print_line(text);
}

}  // namespace

void add_runs_options(CLI::App& app, RunsCommand& command) {
  app.add_option("FOLDER", command.folders,
                 "folders of runs to list, or two and more runs to compare (default: runs)")
      ->option_text("FOLDER");
  app.add_flag("--json", command.json, "JSON instead of a table")->envname("ANNULUS_JSON");
}

void run_runs(const RunsCommand& command) {
  std::vector<std::filesystem::path> folders = paths_of(command.folders);
  if (folders.empty()) folders.emplace_back(kDefaultFolder);
  const bool nothing_yet = command.folders.empty() && !std::filesystem::exists(kDefaultFolder);
  const std::vector<runs::RunRecord> records =
      nothing_yet ? std::vector<runs::RunRecord>{} : runs::read_runs(folders);
  const auto now = std::chrono::system_clock::now();
  if (are_runs(folders))
    print(command.json ? comparison_json(records, now) : comparison_text(records, now));
  else if (command.json || !records.empty())
    print(command.json ? list_json(records, now) : list_text(records, now));
  else
    note(fmt::format("no runs in {}; annulus train makes one\n", folders.front().string()));
}

void add_plot_options(CLI::App& app, PlotCommand& command) {
  app.add_option("RUN", command.folders, "run folders, or folders of runs")
      ->option_text("RUN")
      ->required();
  app.add_option("--svg", command.svg, "the SVG file")
      ->option_text("FILE")
      ->envname("ANNULUS_SVG")
      ->capture_default_str();
  app.add_option(
         "--metric", command.options.metrics,
         "a number of metrics.jsonl; several with commas (default: these, overlap where it is)")
      ->option_text("accuracy|loss|images_per_sec|overlap|NAME")
      ->delimiter(',')
      ->envname("ANNULUS_METRIC");
  app.add_option("--x", command.options.x, "what the curves run along")
      ->check(CLI::IsMember({"epoch", "updates", "time"}))
      ->envname("ANNULUS_X")
      ->capture_default_str();
}

void run_plot(const PlotCommand& command) {
  const std::vector<runs::RunRecord> records = runs::read_runs(paths_of(command.folders));
  for (const runs::RunRecord& run : records)
    for (const std::string& text : run.notes)
      note(fmt::format("{}: {}\n", run.folder.string(), text));
  write_file(command.svg, runs::plot(records, command.options));
  print_line(command.svg);
}

}  // namespace annulus
