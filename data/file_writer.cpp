// See file_writer.h. Data before name, name before folder: in this order a crash at any moment
// leaves the old file or the new one (man 2 fsync, "Calling fsync() does not necessarily ensure
// that the entry in the directory … has also reached disk").
#include "data/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "kernels/check.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".tmp";

[[noreturn]] void fail(const fs::path& path, int error) {
  throw UserError(ExitCode::storage,
                  fmt::format("{}: cannot be written: {}; free space there, or choose another "
                              "folder",
                              path.string(), std::strerror(error)));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : path_(path), number_(open(path.c_str(), flags, 0666)) {
    if (number_ < 0) fail(path, errno);
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void write(std::span<const std::uint8_t> bytes) const {
    while (!bytes.empty()) {
      const ssize_t done = ::write(number_, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail(path_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
  }

  void sync() const {
    if (fsync(number_) != 0) fail(path_, errno);
  }

  // Some file systems report a failed write only here.
  void close() {
    if (::close(std::exchange(number_, -1)) != 0) fail(path_, errno);
  }

 private:
  const fs::path& path_;
  int number_;
};

void sync_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  Descriptor(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC).sync();
}

// A device, a pipe or what a link names is written to; a new file in its place would not be it.
bool is_written_in_place(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

void write_file(const fs::path& path, std::span<const std::uint8_t> bytes) {
  if (is_written_in_place(path)) {
    Descriptor file(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    file.write(bytes);
    return file.close();
  }
  const fs::path temporary = fmt::format("{}.{}{}", path.string(), getpid(), kTemporary);
  try {
    Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    file.write(bytes);
    file.sync();
    file.close();
    if (rename(temporary.c_str(), path.c_str()) != 0) fail(path, errno);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
  sync_folder_of(path);
}

void write_file(const fs::path& path, std::string_view text) {
  write_file(path, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

void remove_left_over_files(const fs::path& folder, std::string_view prefix) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(kTemporary)) fs::remove(entry.path(), error);
  }
}

}  // namespace annulus
