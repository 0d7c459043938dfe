// See source.h. A pipe is opened without waiting for a writer, and then waited for with a deadline.
#include "engine/k8s/source.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "data/data_error.h"

namespace annulus::k8s {
namespace {

constexpr std::size_t kLongest = std::size_t{8} << 20;
constexpr int kPatience = 60;  // seconds without a byte: kubectl may have to fetch a remote base

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : own_(path != "-"),
        number_(own_ ? open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : STDIN_FILENO) {}
  ~Descriptor() {
    if (own_ && number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  bool own_;
  int number_;
};

// Until there are bytes or their end; a pipe that nobody has opened for writing yet has neither.
void wait_for_bytes(const std::string& path, int descriptor) {
  pollfd readable{descriptor, POLLIN, 0};
  int ready = 0;
  while ((ready = poll(&readable, 1, kPatience * 1000)) < 0 && errno == EINTR) {
  }
  if (ready == 0)
    throw_data_error(path, "{} s without a byte; is what writes into it still at work?", kPatience);
}

}  // namespace

std::string read_source(const std::string& path) {
  const Descriptor file(path);
  if (file.number() < 0) throw_data_error(path, "cannot be opened: {}", std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> piece{};
  while (true) {
    wait_for_bytes(path, file.number());
    const ssize_t got = read(file.number(), piece.data(), piece.size());
    if (got == 0) return text;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) throw_data_error(path, "cannot be read: {}", std::strerror(errno));
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > kLongest)
      throw_data_error(path, "is longer than 8 MiB; give manifests, a few at a time");
  }
}

}  // namespace annulus::k8s
