// Non-blocking reads and writes of frames; see comm/control_connection.h.
#include "comm/control_connection.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace annulus::control {
namespace {

// No more at once: a stranger's flood is looked at before it is kept.
constexpr std::size_t chunk_bytes = 16 << 10;
constexpr int most_chunks = 4;

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

SharedBytes shared_bytes(const Frame& frame) {
  return std::make_shared<const std::string>(encode(frame));
}

Connection::Connection(Socket socket, std::size_t payload_limit)
    : socket_(std::move(socket)), incoming_(payload_limit) {}

pollfd Connection::poll_entry() const {
  const int events = all_sent() ? POLLIN : POLLIN | POLLOUT;
  return {socket_.descriptor(), static_cast<short>(events), 0};
}

void Connection::close() {
  socket_.close();
  watch = {};
}

// Some bytes, at most what `chunk` holds; 0: nothing has come, or it was the end.
std::size_t Connection::receive_some(std::span<char> chunk) {
  while (open()) {
    const ssize_t count = recv(descriptor(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count > 0) {
      heard_ = Clock::now();
      return static_cast<std::size_t>(count);
    }
    if (count < 0 && would_block(errno)) break;
    if (count == 0 || errno != EINTR) close();
  }
  return 0;
}

void Connection::receive() {
  std::array<char, chunk_bytes> bytes;
  for (int reads = 0; reads < most_chunks; ++reads) {
    const std::size_t room = std::min(bytes.size(), incoming_.room());
    const std::size_t count = room == 0 ? 0 : receive_some({bytes.data(), room});
    if (count == 0) return;
    incoming_.append({bytes.data(), count});
  }
}

void Connection::discard() {
  std::array<char, chunk_bytes> bytes;
  for (int reads = 0; reads < most_chunks; ++reads)
    if (receive_some(bytes) == 0) return;
}

void Connection::send(SharedBytes bytes) {
  if (!open()) return;
  if (all_sent()) progressed_ = Clock::now();
  outgoing_.push_back(std::move(bytes));
  flush();
}

// A connection that is found broken here is left to receive(), which reads the last words first.
void Connection::flush() {
  while (open() && !all_sent()) {
    const std::string& first = *outgoing_.front();
    const ssize_t count = ::send(descriptor(), first.data() + sent_, first.size() - sent_,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      sent_ += static_cast<std::size_t>(count);
      progressed_ = Clock::now();
      if (sent_ < first.size()) continue;
      outgoing_.pop_front();
      sent_ = 0;
    } else if (would_block(errno)) {
      return;
    } else if (errno != EINTR) {
      outgoing_.clear();
      sent_ = 0;
    }
  }
}

Waker::Waker() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw NetError(NetError::Kind::system, "cannot make an eventfd");
}

void Waker::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_.descriptor(), &one, sizeof one);
}

void Waker::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(event_.descriptor(), &count, sizeof count);
}

void poll_all(pollfd* entries, std::size_t count, std::chrono::milliseconds timeout) {
  if (poll(entries, count, static_cast<int>(timeout.count())) < 0 && errno != EINTR)
    throw NetError(NetError::Kind::system, "poll failed");
}

}  // namespace annulus::control
