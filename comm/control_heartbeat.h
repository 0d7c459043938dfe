// Heartbeats: what one carries (the phase a rank is in) and when one is due or the other side has
// been silent for too long. Invariant: time is judged only after everything that has come was read,
// so a process that was stopped itself does not blame its peers. Called by comm/control_member and
// comm/control_hub.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>

#include "comm/control.h"
#include "comm/socket.h"

namespace annulus::control {

using Clock = std::chrono::steady_clock;

// For messages.
inline double seconds(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

// A phase that has crossed the wire: its name is no literal any more.
struct RemotePhase {
  std::string name = "start";
  std::uint64_t step = 0;
  std::int64_t bucket = -1;
};

std::string describe(const RemotePhase& phase);  // "step 12, bucket 3"

// Written by any thread for nanoseconds, read once a heartbeat. The three parts are independent: a
// reader may see a step with the bucket of the one before, which is as good a place for a message.
class SharedPhase {
 public:
  void set(const Phase& phase) {
    name_.store(phase.name, std::memory_order_relaxed);
    step_.store(phase.step, std::memory_order_relaxed);
    bucket_.store(phase.bucket, std::memory_order_relaxed);
  }
  RemotePhase get() const {
    return {name_.load(std::memory_order_relaxed), step_.load(std::memory_order_relaxed),
            bucket_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<const char*> name_{"start"};
  std::atomic<std::size_t> step_{0};
  std::atomic<int> bucket_{-1};
};

// When to send the next heartbeat.
class Beat {
 public:
  explicit Beat(std::chrono::milliseconds interval) : interval_(interval) {}

  // True once an interval; the next one counts from now.
  bool due() {
    const Clock::time_point now = Clock::now();
    if (now < next_) return false;
    next_ = now + interval_;
    return true;
  }
  // How long a poll loop may sleep without being late by more than a quarter of an interval.
  std::chrono::milliseconds tick() const {
    return std::clamp(interval_ / 4, std::chrono::milliseconds{5}, std::chrono::milliseconds{250});
  }

 private:
  std::chrono::milliseconds interval_;
  Clock::time_point next_{};
};

}  // namespace annulus::control
