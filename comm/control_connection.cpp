// Non-blocking reads and writes of frames; see comm/control_connection.h.
#include "comm/control_connection.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace annulus::control {
namespace {

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

Connection::Connection(Socket socket, std::size_t payload_limit)
    : socket_(std::move(socket)), incoming_(payload_limit) {}

pollfd Connection::poll_entry() const {
  const int events = all_sent() ? POLLIN : POLLIN | POLLOUT;
  return {socket_.descriptor(), static_cast<short>(events), 0};
}

void Connection::receive() {
  std::array<char, 16 << 10> bytes;
  // No more at once: a stranger's flood is looked at before it is kept.
  for (int reads = 0; open() && reads < 4; ++reads) {
    const ssize_t count = recv(socket_.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) {
      incoming_.append({bytes.data(), static_cast<std::size_t>(count)});
      heard_ = Clock::now();
    } else if (count < 0 && would_block(errno)) {
      return;
    } else if (count == 0 || errno != EINTR) {
      close();
    }
  }
}

void Connection::send(const Frame& frame) {
  if (!open()) return;
  if (all_sent()) progressed_ = Clock::now();
  outgoing_ += encode(frame);
  flush();
}

// A connection that is found broken here is left to receive(), which reads the last words first.
void Connection::flush() {
  while (open() && !all_sent()) {
    const ssize_t count = ::send(socket_.descriptor(), outgoing_.data() + sent_,
                                 outgoing_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      sent_ += static_cast<std::size_t>(count);
      progressed_ = Clock::now();
    } else if (would_block(errno)) {
      return;
    } else if (errno != EINTR) {
      sent_ = outgoing_.size();
    }
  }
  outgoing_.clear();
  sent_ = 0;
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
