// A rank on its way to a seat: it says hello, proves that it has the secret, tells people what is
// waited for, and is welcomed or refused. Invariant: only the welcome of a rank 0 that has the same
// secret (or none, as this rank) counts; until then every wait has the rendezvous' deadline. Called
// by comm/control.
#pragma once

#include <optional>
#include <string>

#include "comm/control.h"
#include "comm/control_connection.h"
#include "comm/control_messages.h"

namespace annulus::control {

class Applicant {
 public:
  Applicant(Hello hello, ControlOptions options);

  const Hello& hello() const { return hello_; }

  struct Seat {
    Connection connection;
    Welcome welcome;
  };
  // Connects, again and again until the deadline, and applies. Throws NetError, BadFrame, PeerError
  // or UserError with rank 0's reason.
  Seat find_seat();
  // On a connection that stands; nothing where it ended before an answer, or fell silent.
  std::optional<Welcome> apply(Connection& connection, Deadline deadline);

 private:
  Connection connect(Deadline deadline);
  std::optional<Welcome> take_answer(Connection& connection, const Frame& frame);
  void prove(Connection& connection, const Challenge& challenge);
  void require_proof(const Welcome& welcome) const;
  void tell_progress(const std::string& words);

  const Hello hello_;
  const ControlOptions options_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point next_progress_;
  std::string challenge_;      // rank 0's, answered
  std::string waiting_words_;  // rank 0's latest on who is absent
};

// Tries again until the deadline; see comm/socket.
Connection connect_to_rank_0(const ControlOptions& options, Deadline deadline);

// Rank 0 gives the rendezvous up first, because it can name who is absent.
inline constexpr std::chrono::milliseconds slack{2'000};

}  // namespace annulus::control
