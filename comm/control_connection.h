// One framed, non-blocking connection and an eventfd to wake the loop that serves it.
// Invariant: nothing here waits; what cannot be sent now stays queued, and how long the other side
// has taken nothing or said nothing can be asked. Used by one thread at a time. Called by
// comm/control_member, comm/control_hub, comm/control_lobby and comm/control_applicant.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "comm/control_frames.h"
#include "comm/control_heartbeat.h"
#include "comm/socket.h"

namespace annulus::control {

// The bytes of a frame that goes to many: encoded once, held once.
using SharedBytes = std::shared_ptr<const std::string>;
SharedBytes shared_bytes(const Frame& frame);

class Connection {
 public:
  struct Watch {
    std::uint32_t events = 0;  // 0: not watched
    std::uint64_t key = 0;
  };

  explicit Connection(Socket socket, std::size_t payload_limit);

  bool open() const { return static_cast<bool>(socket_); }
  void close();
  int descriptor() const { return socket_.descriptor(); }
  void set_payload_limit(std::size_t limit) { incoming_.set_limit(limit); }
  std::string peer_address() const { return socket_.peer_address(); }

  pollfd poll_entry() const;  // what poll should wait for
  Watch watch;                // what the poller was told; the poller's

  // Reads what has come, up to 64 KiB and no more than the longest frame; closes itself at the
  // other side's end. Frames that came before it can still be taken.
  void receive();
  void discard();                                                 // the same, and forgets it
  std::optional<Frame> next_frame() { return incoming_.next(); }  // throws BadFrame

  void send(const Frame& frame) { send(shared_bytes(frame)); }
  void send(SharedBytes bytes);  // queues, and sends what can be sent now
  void flush();
  bool all_sent() const { return outgoing_.empty(); }

  // Judged after receive() and flush(): `now` is a time before they were called.
  bool silent_for(std::chrono::milliseconds limit, Clock::time_point now) const {
    return now - heard_ > limit;
  }
  bool stuck_for(std::chrono::milliseconds limit, Clock::time_point now) const {
    return !all_sent() && now - progressed_ > limit;
  }
  void start_clocks() { heard_ = progressed_ = Clock::now(); }

 private:
  std::size_t receive_some(std::span<char> chunk);

  Socket socket_;
  FrameBuffer incoming_;
  std::deque<SharedBytes> outgoing_;
  std::size_t sent_ = 0;  // bytes of outgoing_'s first
  Clock::time_point heard_ = Clock::now(), progressed_ = heard_;
};

// Lets any thread end a poll loop's sleep.
class Waker {
 public:
  Waker();
  void wake() const;
  void clear() const;
  int descriptor() const { return event_.descriptor(); }
  pollfd poll_entry() const { return {event_.descriptor(), POLLIN, 0}; }

 private:
  Socket event_;  // an eventfd; Socket owns descriptors
};

// poll(2) that a signal does not end with an error.
void poll_all(pollfd* entries, std::size_t count, std::chrono::milliseconds timeout);

}  // namespace annulus::control
