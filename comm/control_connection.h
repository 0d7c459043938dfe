// One framed, non-blocking connection and an eventfd to wake the poll loop that serves it.
// Invariant: nothing here waits; what cannot be sent now stays queued, and how long the other side
// has taken nothing or said nothing can be asked. Used by one thread at a time. Called by
// comm/control_member and comm/control_hub.
#pragma once

#include <poll.h>

#include <optional>
#include <string>

#include "comm/control_frames.h"
#include "comm/control_heartbeat.h"
#include "comm/socket.h"

namespace annulus::control {

class Connection {
 public:
  explicit Connection(Socket socket, std::size_t payload_limit);

  bool open() const { return static_cast<bool>(socket_); }
  void close() { socket_.close(); }
  void set_payload_limit(std::size_t limit) { incoming_.set_limit(limit); }
  std::string peer_address() const { return socket_.peer_address(); }

  pollfd poll_entry() const;  // what poll should wait for

  // Reads what has come, up to 64 KiB; closes itself at the other side's end. Frames that came
  // before it can still be taken.
  void receive();
  std::optional<Frame> next_frame() { return incoming_.next(); }  // throws BadFrame

  void send(const Frame& frame);  // queues, and sends what can be sent now
  void flush();
  bool all_sent() const { return sent_ == outgoing_.size(); }

  // Judged after receive() and flush().
  bool silent_for(std::chrono::milliseconds limit) const { return Clock::now() - heard_ > limit; }
  bool stuck_for(std::chrono::milliseconds limit) const {
    return !all_sent() && Clock::now() - progressed_ > limit;
  }
  void start_clocks() { heard_ = progressed_ = Clock::now(); }

 private:
  Socket socket_;
  FrameBuffer incoming_;
  std::string outgoing_;
  std::size_t sent_ = 0;  // bytes of outgoing_
  Clock::time_point heard_ = Clock::now(), progressed_ = heard_;
};

// Lets any thread end a poll loop's sleep.
class Waker {
 public:
  Waker();
  void wake() const;
  void clear() const;
  pollfd poll_entry() const { return {event_.descriptor(), POLLIN, 0}; }

 private:
  Socket event_;  // an eventfd; Socket owns descriptors
};

// poll(2) that a signal does not end with an error.
void poll_all(pollfd* entries, std::size_t count, std::chrono::milliseconds timeout);

}  // namespace annulus::control
