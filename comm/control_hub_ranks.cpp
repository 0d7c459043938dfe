// What the hub does for ranks that are in: collectives, heartbeats, leaving, and the judgement that
// a rank is lost. The invariants: comm/control_hub.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/control_hub.h"

namespace annulus::control {
namespace {

bool permanent(ExitCode code) {
  return static_cast<int>(code) >= 1 && static_cast<int>(code) <= 127;
}

}  // namespace

// --- frames --------------------------------------------------------------------------------------

void Hub::serve_seats() {
  for (int rank = 0; rank < world(); ++rank)
    if (seats_[rank].connection) serve_seat(rank);
  if (ended_ && Clock::now() > close_at_)
    for (Seat& seat : seats_) seat.connection.reset();
  if (open_ && !ended_ && beat_.due()) send_heartbeats();
}

void Hub::serve_seat(int rank) {
  Seat& seat = seats_[rank];
  seat.connection->receive();
  seat.connection->flush();
  try {
    while (seat.connection) {
      const std::optional<Frame> frame = seat.connection->next_frame();
      if (!frame) break;
      take_frame(rank, *frame);
    }
  } catch (const BadFrame& error) {
    seat.connection->close();
    if (open_) lose(rank, fmt::format("sent what nobody understands ({})", error.what()));
  }
  // Who goes away before all are here may come back until the deadline.
  if (!open_ && !ended_ && !seat.connection->open()) seat = Seat{};
}

void Hub::take_frame(int rank, const Frame& frame) {
  if (ended_ || !open_) return;
  Seat& seat = seats_[rank];
  if (frame.type == FrameType::heartbeat)
    seat.phase = Heartbeat::from(frame).phase;
  else if (frame.type == FrameType::leave)
    take_leave(rank, Leave::from(frame));
  else
    take_contribution(rank, Contribution::from(frame));
}

void Hub::send_heartbeats() {
  for (Seat& seat : seats_)
    if (seat.connection && seat.connection->all_sent())
      seat.connection->send(Heartbeat{seats_[0].phase}.frame());
}

// --- collectives ---------------------------------------------------------------------------------

void Hub::take_contribution(int rank, Contribution contribution) {
  if (first_leaver_ >= 0)
    return lose(first_leaver_,
                fmt::format("left early: {} calls {}", who(rank), contribution.call));
  const auto first = std::find_if(seats_.begin(), seats_.end(),
                                  [](const Seat& seat) { return seat.contribution.has_value(); });
  if (first == seats_.end())
    collective_deadline_ = Clock::now() + options_.collective_timeout;
  else if (first->contribution->call != contribution.call)
    return lose(
        rank,
        fmt::format("calls {} while {} calls {}", contribution.call,
                    who(static_cast<int>(first - seats_.begin())), first->contribution->call),
        ExitCode::internal);
  seats_[rank].contribution = std::move(contribution);
  answer_when_complete();
}

void Hub::answer_when_complete() {
  for (const Seat& seat : seats_)
    if (!seat.contribution) return;
  Result result;
  const Contribution::Answer answer = seats_[0].contribution->answer;
  if (answer == Contribution::Answer::text_of_rank_0)
    result.texts.push_back(std::move(seats_[0].contribution->text));
  if (answer == Contribution::Answer::all_texts)
    for (Seat& seat : seats_) result.texts.push_back(std::move(seat.contribution->text));
  for (Seat& seat : seats_) {
    seat.contribution.reset();
    if (seat.connection) seat.connection->send(result.frame());
  }
}

// --- leaving and losses --------------------------------------------------------------------------

void Hub::take_leave(int rank, const Leave& leave) {
  Seat& seat = seats_[rank];
  seat.phase = leave.phase;
  seat.state = Seat::State::left;
  seat.connection.reset();  // tells the rank that its word has come
  const std::string what =
      fmt::format("left with code {}: {}", static_cast<int>(leave.code), leave.reason);
  if (leave.code == ExitCode::peer_lost) {
    if (!symptom_) symptom_ = {rank, what, Clock::now() + 2 * options_.heartbeat};
  } else if (leave.code != ExitCode::done) {
    lose(rank, what, permanent(leave.code) ? leave.code : ExitCode::peer_lost);
  } else if (first_leaver_ < 0) {
    first_leaver_ = rank;
    first_left_ = Clock::now();
  }
}

// Called after everything that has come was read.
void Hub::judge() {
  for (int rank = 0; rank < world() && !ended_; ++rank) judge_seat(rank);
  if (!ended_) judge_collective();
  if (ended_) return;
  if (symptom_ && Clock::now() > symptom_->due)
    lose(symptom_->rank, symptom_->what);
  else if (first_leaver_ >= 0 && !all(Seat::State::left) &&
           Clock::now() > first_left_ + options_.peer_timeout)
    lose(first_leaver_, "left early: others go on");
}

void Hub::judge_seat(int rank) {
  const Seat& seat = seats_[rank];
  const std::chrono::milliseconds limit = options_.peer_timeout;
  if (seat.state != Seat::State::present) return;
  if (!seat.connection->open())
    lose(rank, "ended without a word: killed, or its host is gone");
  else if (seat.connection->silent_for(limit))
    lose(rank, fmt::format("was silent for {:g} s: stopped, or its host is out of reach",
                           seconds(limit)));
  else if (seat.connection->stuck_for(limit))
    lose(rank, fmt::format("took no data for {:g} s", seconds(limit)));
}

void Hub::judge_collective() {
  std::vector<int> missing;
  std::string call;
  for (int rank = 0; rank < world(); ++rank) {
    if (!seats_[rank].contribution)
      missing.push_back(rank);
    else
      call = seats_[rank].contribution->call;
  }
  if (call.empty()) return;
  if (first_leaver_ >= 0)
    lose(first_leaver_, fmt::format("left early: others call {}", call));
  else if (Clock::now() > collective_deadline_)
    lose(missing.front(), fmt::format("did not come to {} within {:g} s (missing: {})", call,
                                      seconds(options_.collective_timeout), rank_list(missing)));
}

void Hub::lose(int rank, const std::string& what, ExitCode code) {
  const Loss loss{rank, code,
                  fmt::format("{} in {}: {}", who(rank), describe(seats_[rank].phase), what)};
  end(loss_frame(loss), loss.message);
}

}  // namespace annulus::control
