// See checkpoint_folder.h.
#include "engine/checkpoint_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>
#include <system_error>

#include "comm/console.h"
#include "data/file_writer.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors";

std::string file_name(std::size_t updates) {
  return fmt::format("{}{:09}{}", kPrefix, updates, kSuffix);
}

// The update in a checkpoint's file name; nothing where it is another file's.
std::optional<std::size_t> update_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.size() <= kPrefix.size() + kSuffix.size() || !name.starts_with(kPrefix) ||
      !name.ends_with(kSuffix))
    return std::nullopt;
  const std::string_view digits =
      std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  std::size_t updates = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), updates);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return updates;
}

void expect_room(const fs::path& folder, std::size_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (!error && space.available < bytes)
    throw UserError(ExitCode::storage,
                    fmt::format("{}: has {} MiB free, but two checkpoints need {}; free space or "
                                "choose another folder with --out",
                                folder.string(), space.available >> 20, (bytes >> 20) + 1));
}

bool finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

}  // namespace

std::vector<fs::path> checkpoints_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (update_of(entry.path())) found.push_back(entry.path());
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return update_of(a) > update_of(b); });
  return found;
}

std::optional<CheckpointFile> newest_checkpoint(const fs::path& folder) {
  const std::vector<fs::path> found = checkpoints_in(folder);
  for (const fs::path& path : found) try {
      return read_checkpoint(path);
    } catch (const UserError& error) {
      note(fmt::format("warning: {}\n", error.what()));
    }
  if (found.empty()) return std::nullopt;
  throw UserError(ExitCode::data,
                  fmt::format("{}: none of its {} checkpoints can be read; remove the folder to "
                              "begin anew",
                              folder.string(), found.size()));
}

CheckpointWriter::CheckpointWriter(const Model& model, fs::path folder, std::size_t keep,
                                   std::size_t moments)
    : model_(model), folder_(std::move(folder)), keep_(keep) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    throw UserError(ExitCode::storage,
                    fmt::format("{}: cannot be created: {}; choose another folder with --out",
                                folder_.string(), error.message()));
  if (access(folder_.c_str(), W_OK | X_OK) != 0)
    throw UserError(ExitCode::storage,
                    fmt::format("{}: cannot be written: {}; choose another folder with --out",
                                folder_.string(), std::strerror(errno)));
  const GradientLayout& layout = model.layout();
  expect_room(folder_, 2 * sizeof(float) * (layout.parameters * (1 + moments) + layout.statistics));
}

void CheckpointWriter::save(Snapshot snapshot) {
  wait();
  writing_ = std::async(std::launch::async,
                        [this, snapshot = std::move(snapshot)] { return write(snapshot); });
}

void CheckpointWriter::wait() {
  if (writing_.valid()) last_ = writing_.get();
}

fs::path CheckpointWriter::write(const Snapshot& snapshot) const {
  const bool sound = finite(snapshot.parameters) && finite(snapshot.running) &&
                     std::all_of(snapshot.moments.begin(), snapshot.moments.end(), finite);
  if (!sound)
    throw UserError(ExitCode::diverged,
                    fmt::format("training diverged: the weights after update {} are not finite; "
                                "try a lower --lr or a longer --warmup",
                                snapshot.state.updates));
  remove_left_over_files(folder_, kPrefix);
  fs::path path = folder_ / file_name(snapshot.state.updates);
  write_file(path, checkpoint_bytes(model_, snapshot));
  remove_all_but_the_last(path);
  return path;
}

// Later updates than the newest's are of a past that a resume has left, or damaged.
void CheckpointWriter::remove_all_but_the_last(const fs::path& newest) const {
  std::error_code ignored;
  std::size_t kept = 0;
  for (const fs::path& path : checkpoints_in(folder_))
    if (update_of(path) > update_of(newest) || ++kept > keep_) fs::remove(path, ignored);
}

}  // namespace annulus
