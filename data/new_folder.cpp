// See new_folder.h. rename(2) refuses a target that is a file or holds anything.
#include "data/new_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "data/file_writer.h"
#include "kernels/check.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw UserError(ExitCode::storage,
                  fmt::format("{}: cannot be made: {}; free space there, or choose another place",
                              path.string(), reason));
}

}  // namespace

NewFolder::NewFolder(fs::path path) : path_(std::move(path)) {
  if (!path_.has_filename()) path_ = path_.parent_path();  // "folder/"
  std::error_code error;
  if (fs::exists(fs::symlink_status(path_, error)))
    throw UserError(ExitCode::usage,
                    fmt::format("{}: exists already; name a folder that does not", path_.string()));
  temporary_ = fmt::format("{}.{}.tmp", path_.string(), getpid());
  if (!fs::create_directory(temporary_, error))
    fail(path_, error ? error.message() : "its temporary name is taken");
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void NewFolder::add(std::string_view name, std::span<const std::uint8_t> bytes) const {
  write_file(temporary_ / name, bytes);
}

void NewFolder::publish() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, std::strerror(errno));
  temporary_.clear();
}

}  // namespace annulus
