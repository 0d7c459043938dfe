// See record_file.h.
#include "engine/record_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kernels/check.h"

namespace annulus {

RecordFile::RecordFile(std::filesystem::path path, Earlier earlier, std::string fix)
    : path_(std::move(path)),
      fix_(std::move(fix)),
      descriptor_(
          open(path_.c_str(),
               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (earlier == Earlier::goes ? O_TRUNC : 0),
               0666)) {
  if (descriptor_ < 0) fail();
}

RecordFile::~RecordFile() { close(descriptor_); }

void RecordFile::append(std::string_view record) {
  while (!record.empty()) {
    const ssize_t written = write(descriptor_, record.data(), record.size());
    if (written < 0 && errno != EINTR) fail();
    if (written > 0) record.remove_prefix(static_cast<std::size_t>(written));
  }
}

void RecordFile::fail() const {
  throw UserError(ExitCode::storage, fmt::format("{}: cannot be written: {}; {}", path_.string(),
                                                 std::strerror(errno), fix_));
}

}  // namespace annulus
