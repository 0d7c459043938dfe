// How a waiter stays awake before it sleeps in the kernel: it looks again and again, at first with
// a pause between, then offering its core to others, so that a compute thread on the same core gets
// it. Used by both transports.
#pragma once

namespace annulus::cpu::nccl {

struct Patience {
  int pauses;  // looks with a pause between
  int yields;  // looks with the core offered to others between
};

class Waiter {
 public:
  explicit Waiter(const Patience& patience) : patience_(patience) {}

  // Before the next look: true after a pause, false when it is time to sleep.
  bool stays_awake();

  void start_again() { looks_ = 0; }

 private:
  bool offers_core() const;  // false if somebody took it for long

  Patience patience_;
  int looks_ = 0;
};

}  // namespace annulus::cpu::nccl
