// The last resort of a rank that has lost a peer: NCCL's abort, or the driver behind it, may itself
// never return, and then no exception reaches main. Armed where that can happen, it ends the
// process with the code that the exception would have brought, unless it is disarmed in time.
// Invariant: a process that ends by itself is never ended by it. Called by comm/communicator.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/exit_code.h"

namespace annulus {

class ExitBackstop {
 public:
  ~ExitBackstop() { disarm(); }

  // Any thread; the first call counts.
  void arm(ExitCode code, const std::string& reason, std::chrono::milliseconds patience);
  void disarm();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool armed = false, disarmed = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace annulus
