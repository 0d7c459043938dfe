// One thread moves both directions: it takes turns between a non-blocking send and a non-blocking
// receive, and sleeps in poll(2) when neither has moved anything for a while.
#include "comm/cpu/ring_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "comm/cpu/patience.h"

namespace annulus::cpu::nccl {
namespace {

constexpr std::size_t kSegment = 512 << 10;  // bytes received before the next turn to send
constexpr Patience kPatience{.pauses = 0, .yields = 100};  // a look takes two system calls already
constexpr int kSleepMilliseconds = 10;

enum class Moved { some, nothing, gone };

Moved moved(ssize_t bytes) {
  if (bytes > 0) return Moved::some;
  const bool would_block = bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return would_block ? Moved::nothing : Moved::gone;
}

class Outgoing {
 public:
  explicit Outgoing(const RingTransfer& transfer) : transfer_(transfer) {
    for (const OutgoingPart& part : transfer.outgoing) left_ += part.bytes;
  }

  bool done() const { return part_ == transfer_.outgoing.size(); }

  // Sends of what may go out when so many bytes have come in.
  Moved send(const Socket& socket, std::size_t received) {
    skip_empty();
    if (done()) return Moved::nothing;
    const std::size_t allowed = may_send(received);
    const OutgoingPart& part = transfer_.outgoing[part_];
    const std::size_t size = std::min({part.bytes - at_, allowed, kSegment});
    if (size == 0) return Moved::nothing;
    const int more = allowed > size ? MSG_MORE : 0;
    const ssize_t bytes =
        ::send(socket.descriptor(), part.data + at_, size, MSG_DONTWAIT | MSG_NOSIGNAL | more);
    if (bytes <= 0) return moved(bytes);
    at_ += static_cast<std::size_t>(bytes);
    sent_ += static_cast<std::size_t>(bytes);
    left_ -= static_cast<std::size_t>(bytes);
    skip_empty();
    return Moved::some;
  }

  // How many bytes, when so many have come in.
  std::size_t may_send(std::size_t received) const {
    const std::size_t let_out = received - std::min(received, transfer_.preamble);
    return std::min(transfer_.lead + let_out - sent_, left_);
  }

 private:
  void skip_empty() {
    while (!done() && at_ == transfer_.outgoing[part_].bytes) ++part_, at_ = 0;
  }

  const RingTransfer& transfer_;
  std::size_t part_ = 0, at_ = 0, sent_ = 0, left_ = 0;
};

class Incoming {
 public:
  Incoming(const RingTransfer& transfer, std::vector<std::byte>& aside)
      : transfer_(transfer), aside_(aside) {}

  bool done() const { return part_ == transfer_.incoming.size(); }
  bool refused() const { return refused_; }
  std::size_t usable() const { return usable_; }  // bytes that are where they belong

  Moved receive(const Socket& socket) {
    complete_parts();
    if (done() || refused_) return Moved::nothing;
    const IncomingPart& part = transfer_.incoming[part_];
    std::byte* to = part.combine ? aside_.data() + pending_ : part.data + at_;
    const std::size_t room = part.combine ? kSegment - pending_ : kSegment;
    const std::size_t size = std::min(part.bytes - at_ - pending_, room);
    const ssize_t bytes = ::recv(socket.descriptor(), to, size, MSG_DONTWAIT);
    if (bytes <= 0) return moved(bytes);
    take(part, static_cast<std::size_t>(bytes));
    complete_parts();
    return Moved::some;
  }

 private:
  void take(const IncomingPart& part, std::size_t bytes) {
    if (!part.combine) {
      at_ += bytes;
      usable_ += bytes;
      return;
    }
    pending_ += bytes;
    const std::size_t whole = pending_ - pending_ % transfer_.element_bytes;
    if (whole == 0) return;
    part.combine(aside_.data(), at_, at_ + whole);
    std::memmove(aside_.data(), aside_.data() + whole, pending_ - whole);
    pending_ -= whole;
    at_ += whole;
    usable_ += whole;
  }

  void complete_parts() {
    while (!done() && !refused_ && at_ == transfer_.incoming[part_].bytes) {
      const IncomingPart& part = transfer_.incoming[part_];
      refused_ = part.completed && !part.completed();
      ++part_;
      at_ = 0;
    }
  }

  const RingTransfer& transfer_;
  std::vector<std::byte>& aside_;
  std::size_t part_ = 0, at_ = 0, pending_ = 0, usable_ = 0;
  bool refused_ = false;
};

void sleep_until_movable(const Socket& next, const Socket& previous, bool sending, bool receiving) {
  std::array<pollfd, 2> waiting{pollfd{sending ? next.descriptor() : -1, POLLOUT, 0},
                                pollfd{receiving ? previous.descriptor() : -1, POLLIN, 0}};
  poll(waiting.data(), waiting.size(), kSleepMilliseconds);
}

}  // namespace

RingStream::RingStream(Socket next, Socket previous)
    : next_(std::move(next)), previous_(std::move(previous)), aside_(kSegment) {}

TransferEnd RingStream::run(const RingTransfer& transfer, const std::function<bool()>& stopped) {
  Outgoing out(transfer);
  Incoming in(transfer, aside_);
  Waiter waiter(kPatience);
  while (!out.done() || !in.done()) {
    const Moved sent = out.send(next_, in.usable());
    const Moved received = in.receive(previous_);
    if (in.refused()) return TransferEnd::stopped;
    if (sent == Moved::gone || received == Moved::gone) return TransferEnd::peer_gone;
    if (sent == Moved::some || received == Moved::some) {
      waiter.start_again();
    } else if (!waiter.stays_awake()) {
      if (stopped()) return TransferEnd::stopped;
      sleep_until_movable(next_, previous_, out.may_send(in.usable()) > 0, !in.done());
    }
  }
  return TransferEnd::done;
}

}  // namespace annulus::cpu::nccl
