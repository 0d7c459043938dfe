// See run_folder.h.
#include "engine/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "data/file_writer.h"
#include "engine/metrics.h"
#include "kernels/check.h"

namespace annulus {

namespace {

// Names of files may be any bytes; JSON is UTF-8.
std::string text_of(const nlohmann::ordered_json& config) {
  return config.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

RunFolder::RunFolder(std::filesystem::path path, const nlohmann::ordered_json& config)
    : path_(std::move(path)) {
  std::error_code error;
  if (std::filesystem::exists(path_ / "config.json", error))
    throw UserError(ExitCode::usage,
                    fmt::format("--out {}: this folder already holds a run; choose another or "
                                "remove it",
                                path_.string()));
  std::filesystem::create_directories(path_, error);
  if (error)
    throw UserError(ExitCode::storage,
                    fmt::format("--out {}: cannot be created: {}; choose another folder",
                                path_.string(), error.message()));
  write_file(this->config(), text_of(config));
}

RunFolder RunFolder::reopen(std::filesystem::path path, const nlohmann::ordered_json& config,
                            std::size_t epochs) {
  RunFolder folder(std::move(path));
  write_file(folder.config(), text_of(config));
  std::string kept;
  for (const nlohmann::ordered_json& line : read_metrics(folder.metrics()).epochs)
    if (line.at("epoch").get<std::size_t>() <= epochs) kept += line.dump() + '\n';
  write_file(folder.metrics(), kept);
  return folder;
}

void RunFolder::write(const std::string& name, const std::string& text) const {
  write_file(path_ / name, text + '\n');
}

// One write: a killed rank leaves whole lines.
void RunFolder::append_metrics(const std::string& json_line) const {
  std::ofstream stream(metrics(), std::ios::out | std::ios::app);
  stream << json_line + '\n';
  stream.close();
  if (!stream)
    throw UserError(ExitCode::storage, fmt::format("{}: cannot be written: {}; free space there",
                                                   metrics().string(), std::strerror(errno)));
}

std::filesystem::path default_run_path(const std::string& model) {
  const std::string stamp =
      fmt::format("{:%Y%m%d-%H%M%S}-{}", fmt::gmtime(std::time(nullptr)), model);
  std::filesystem::path path = std::filesystem::path("runs") / stamp;
  for (int n = 2; std::filesystem::exists(path); ++n)
    path = std::filesystem::path("runs") / fmt::format("{}-{}", stamp, n);
  return path;
}

}  // namespace annulus
