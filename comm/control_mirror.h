// Rank 0 looks for itself where its peers look for it: whoever answers there under rank 0's name,
// and is another process, is the rank 0 that they find, and this one has its index by mistake. One
// connection, in a thread of its own, tried again until it is answered or rank 0 has joined. Called
// by comm/control.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "comm/control.h"
#include "comm/control_connection.h"
#include "comm/control_messages.h"

namespace annulus::control {

class Mirror {
 public:
  // `on_other` gets the other's refusal, from the mirror's thread.
  Mirror(Hello hello, ControlOptions options, std::function<void(const Refusal&)> on_other);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

 private:
  void run();
  bool look();  // true when it is known who is there

  const Hello hello_;
  const ControlOptions options_;
  const std::function<void(const Refusal&)> on_other_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace annulus::control
