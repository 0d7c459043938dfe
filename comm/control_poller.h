// epoll(7) for the hub: what each connection waits for is told once, and a turn costs what has
// happened, not how many there are. Invariant: events carry the key of whom they concern; who is
// gone by then has no such key any more. Called by comm/control_hub and comm/control_lobby.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/control_connection.h"

namespace annulus::control {

class Poller {
 public:
  using Key = std::uint64_t;

  Poller();

  void watch(int descriptor, Key key);  // for what can be read
  void rest(int descriptor);            // not any more, until it is watched again
  // Tells the kernel only what has changed; a closed connection has left by itself.
  void watch(Connection& connection, Key key);

  // The keys of all that can be read or written, or has ended.
  const std::vector<Key>& wait(std::chrono::milliseconds timeout);
  bool more_may_wait() const { return ready_.size() == events_.size(); }

 private:
  void control(int operation, int descriptor, std::uint32_t events, Key key) const;

  Socket epoll_;  // Socket owns descriptors
  std::vector<epoll_event> events_;
  std::vector<Key> ready_;
};

}  // namespace annulus::control
