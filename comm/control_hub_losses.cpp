// The hub's judgement that a rank is lost, and what all are told then. The invariants:
// comm/control_hub.h.
#include <fmt/format.h>

#include "comm/control_hub.h"

namespace annulus::control {

// Called after everything that had come when the turn began was read.
void Hub::judge() {
  for (int rank = 0; rank < world() && !ended_; ++rank) judge_seat(rank);
  if (!ended_ && contributions_ > 0) judge_collective();
  if (!ended_ && symptom_ && turn_began_ > symptom_->due) lose(symptom_->rank, symptom_->what);
}

void Hub::judge_seat(int rank) {
  const Seat& seat = seats_[rank];
  const std::chrono::milliseconds limit = options_.peer_timeout;
  if (seat.state != Seat::State::present) return;
  if (!seat.connection->open())
    lose(rank, "ended without a word: killed, or its host is gone");
  else if (seat.connection->silent_for(limit, turn_began_))
    lose(rank, fmt::format("was silent for {:g} s: stopped, or its host is out of reach",
                           seconds(limit)));
  else if (seat.connection->stuck_for(limit, turn_began_))
    lose(rank, fmt::format("took no data for {:g} s", seconds(limit)));
}

void Hub::judge_collective() {
  const std::string call = seats_[first_contributor_].contribution->call;
  if (first_leaver_ >= 0)
    return lose(first_leaver_, fmt::format("left early: others call {}", call));
  if (turn_began_ <= collective_deadline_) return;
  std::vector<int> missing;
  for (int rank = 0; rank < world(); ++rank)
    if (!seats_[rank].contribution) missing.push_back(rank);
  lose(missing.front(), fmt::format("did not come to {} within {:g} s (missing: {})", call,
                                    seconds(options_.collective_timeout), rank_list(missing)));
}

// Whether a rank with a seat was heard lately: a second process that claims its rank is then not
// its next life.
bool Hub::beats(const Seat& seat) const {
  return seat.connection && seat.connection->open() &&
         !seat.connection->silent_for(2 * options_.heartbeat, turn_began_);
}

void Hub::lose(int rank, const std::string& what, ExitCode code) {
  const Loss loss{rank, code,
                  fmt::format("{} in {}: {}", who(rank), describe(seats_[rank].phase), what)};
  end(loss_frame(loss), loss.message);
}

}  // namespace annulus::control
