// Notes about those whom rank 0 sends away, for people: a line when a kind of them first comes, and
// at most one a minute afterwards, however many come. Called by comm/control_lobby.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "comm/control_heartbeat.h"

namespace annulus::control {

enum class Stranger { no_annulus, other_version, wrong_secret, refused };

class StrangerLog {
 public:
  // To stderr: "annulus: 10.0.0.9:4123 was sent away: what it sends is no …".
  void tell(Stranger kind, const std::string& address, const std::string& reason);

 private:
  struct Kind {
    Clock::time_point silent_until{};
    std::size_t untold = 0;
  };
  std::array<Kind, 4> kinds_;  // by Stranger
};

}  // namespace annulus::control
