// One open, one size, one read: the file is read as it was when it was opened, or not at all.
#include "data/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "data/data_error.h"

namespace annulus {
namespace {

class OpenFile final : public ByteSource {
 public:
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  explicit OpenFile(const std::filesystem::path& path)
      : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail_with_errno("cannot be opened");
  }
  ~OpenFile() override { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::size_t size() const {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) fail_with_errno("cannot be examined");
    if (!S_ISREG(status.st_mode)) throw_data_error(path_, "is not a regular file");
    return static_cast<std::size_t>(status.st_size);
  }

  std::size_t read(std::span<std::uint8_t> to) override {
    while (true) {
      const ssize_t got = ::read(descriptor_, to.data(), to.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) fail_with_errno("cannot be read");
    }
  }

 private:
  [[noreturn]] void fail_with_errno(const char* what) const {
    throw_data_error(path_, "{}: {}", what, std::strerror(errno));
  }

  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  OpenFile file(path);
  std::vector<std::uint8_t> bytes(file.size());
  if (const std::size_t done = read_fully(file, bytes); done < bytes.size())
    throw_data_error(path, "ended after {} of {} bytes; is it still being copied?", done,
                     bytes.size());
  return bytes;
}

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path) {
  auto file = std::make_unique<OpenFile>(path);
  static_cast<void>(file->size());  // refuses what is no regular file
  return file;
}

}  // namespace annulus
