// Whoever connects to rank 0 and has not been let in: strangers, ranks before their hello is read
// and proved, and those who are still being told a refusal. Invariant: a guest costs one bounded
// buffer for a bounded time, guests are bounded in number, and where there are too many, the
// longest there goes first: a rank, which says hello at once, is let in long before it is that.
// Called by comm/control_hub.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "comm/control_connection.h"
#include "comm/control_messages.h"
#include "comm/control_poller.h"
#include "comm/control_strangers.h"

namespace annulus::control {

class Lobby {
 public:
  struct Candidate {
    const Hello& hello;
    Connection& connection;
    std::string proof;  // what a welcome to it carries
    bool is_rank_0;     // over the socket pair
  };
  // Takes the connection of who is let in, or says why it is not.
  using Admit = std::function<std::optional<Refusal>(const Candidate&)>;

  static constexpr Poller::Key listener_key = Poller::Key{1} << 62;
  static constexpr Poller::Key first_guest_key = Poller::Key{1} << 32;

  Lobby(Poller& poller, Socket listener, std::string secret, std::size_t most_guests, Admit admit);

  std::uint16_t port() const { return listener_.local_port(); }
  void take_rank_0(Socket socket, std::chrono::milliseconds patience);  // never sent off for others
  void take_all_who_knock();
  void serve(Poller::Key guest);
  void tidy(Clock::time_point now);  // sees off those whose time is up; called a few times a second
  void close();

  bool refusals_under_way() const;
  const std::string& last_refusal() const { return last_refusal_; }  // with the sender's address

 private:
  enum class Stage { unheard, challenged, refused };
  struct Guest {
    Connection connection;
    Clock::time_point until;
    bool kept = false;  // rank 0 itself
    Stage stage = Stage::unheard;
    std::string hello_payload, challenge;  // of a challenged guest
  };
  using Guests = std::map<Poller::Key, Guest>;  // in order of arrival

  void take_in(Socket socket, std::chrono::milliseconds patience, bool kept);
  void listen(Guest& guest);
  void take_frame(Guest& guest, const Frame& frame);
  void take_hello(Guest& guest, const Frame& frame);
  void take_proof(Guest& guest, const Frame& frame);
  void admit(Guest& guest, const Hello& hello, const std::string& proof);
  void refuse(Guest& guest, Stranger kind, const Refusal& refusal);
  bool see_one_off();  // false: there is none

  Poller& poller_;
  Socket listener_;
  bool resting_ = false;  // the listener, while no descriptor is to be had
  const std::string secret_;
  const std::size_t most_guests_;
  const Admit admit_;
  Guests guests_;
  Poller::Key next_key_ = first_guest_key;
  StrangerLog log_;
  std::string last_refusal_;
};

}  // namespace annulus::control
