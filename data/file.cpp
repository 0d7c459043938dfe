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

class OpenFile {
 public:
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  explicit OpenFile(const std::filesystem::path& path)
      : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail_with_errno("cannot be opened");
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::size_t size() const {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) fail_with_errno("cannot be examined");
    if (!S_ISREG(status.st_mode)) throw_data_error(path_, "is not a regular file");
    return static_cast<std::size_t>(status.st_size);
  }

  void read_into(std::vector<std::uint8_t>& bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got = read(descriptor_, bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with_errno("cannot be read");
      if (got == 0)
        throw_data_error(path_, "ended after {} of {} bytes; is it still being copied?", done,
                         bytes.size());
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  [[noreturn]] void fail_with_errno(const char* what) const {
    throw_data_error(path_, "{}: {}", what, std::strerror(errno));
  }

  const std::filesystem::path& path_;
  int descriptor_;
};

}  // namespace

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  const OpenFile file(path);
  std::vector<std::uint8_t> bytes(file.size());
  file.read_into(bytes);
  return bytes;
}

}  // namespace annulus
