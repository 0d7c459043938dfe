// What an event's last record left behind: the ticket of the work before it, its clock for the
// checker, and the time, if the event takes it. A graph that records an event shares this with it,
// so either may be destroyed first. Guarded by the runtime's mutex.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "kernels/cpu/cudart/clock.h"
#include "kernels/cpu/cudart/stream.h"

namespace annulus::cpu {

class EventRecord {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit EventRecord(bool timing) : timing_(timing) {}

  // From now on the event is that of a record that is not done yet: the operation with this ticket,
  // whose work is returned. complete() adds the clock, once the operation is queued.
  std::function<void()> begin(const Ticket& ticket) {
    ticket_ = ticket;
    if (!timing_) return {};
    time_ = std::make_shared<Time>();
    return [time = time_] { *time = std::chrono::steady_clock::now(); };
  }
  void complete(const VectorClock& clock) { clock_ = clock; }

  const Ticket& ticket() const { return ticket_; }
  const VectorClock& clock() const { return clock_; }
  const Time* time() const { return time_.get(); }  // null if none is taken

 private:
  const bool timing_;
  Ticket ticket_;
  VectorClock clock_;
  std::shared_ptr<Time> time_;  // shared with the queued operation
};

}  // namespace annulus::cpu
