// See run_folder.h.
#include "engine/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "kernels/check.h"

namespace annulus {
namespace {

void write_line(const std::filesystem::path& path, const std::string& text,
                std::ios::openmode mode) {
  std::ofstream stream(path, std::ios::out | mode);
  stream << text + '\n';  // one write: a killed rank leaves whole lines
  stream.close();
  if (!stream)
    throw UserError(ExitCode::storage,
                    fmt::format("{}: cannot be written: {}; choose another folder with --out",
                                path.string(), std::strerror(errno)));
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
    throw UserError(ExitCode::storage, fmt::format("--out {}: cannot be created: {}",
                                                   path_.string(), error.message()));
  try {
    write_line(path_ / "config.json", config.dump(2), std::ios::trunc);
  } catch (...) {
    std::filesystem::remove(path_ / "config.json", error);  // it would say that a run is here
    throw;
  }
}

void RunFolder::write(const std::string& name, const std::string& text) const {
  write_line(path_ / name, text, std::ios::trunc);
}

void RunFolder::append_metrics(const std::string& json_line) const {
  write_line(metrics(), json_line, std::ios::app);
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
