// What the hub does for ranks that have a seat: their frames, collectives, and their last word. The
// invariants: comm/control_hub.h.
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

void Hub::serve_seat(int rank) {
  Seat& seat = seats_[rank];
  if (!seat.connection) return;
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
    if (open_ && !ended_)
      lose(rank, fmt::format("sent what nobody understands ({})", error.what()));
  }
  if (!seat.connection) return;
  if (seat.connection->open()) return poller_.watch(*seat.connection, rank);
  somebody_is_gone_ = true;
  if (!open_ && !ended_) vacate(rank);
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

void Hub::send(int rank, const SharedBytes& bytes) {
  std::optional<Connection>& connection = seats_[rank].connection;
  if (!connection) return;
  connection->send(bytes);
  poller_.watch(*connection, rank);
}

void Hub::send_heartbeats() {
  const SharedBytes bytes = shared_bytes(Heartbeat{seats_[0].phase}.frame());
  for (int rank = 0; rank < world(); ++rank)
    if (seats_[rank].connection && seats_[rank].connection->all_sent()) send(rank, bytes);
}

void Hub::send_to_all(const Frame& frame) {
  const SharedBytes bytes = shared_bytes(frame);
  for (int rank = 0; rank < world(); ++rank) send(rank, bytes);
}

// --- collectives ---------------------------------------------------------------------------------

void Hub::take_contribution(int rank, Contribution contribution) {
  Seat& seat = seats_[rank];
  if (first_leaver_ >= 0)
    return lose(first_leaver_,
                fmt::format("left early: {} calls {}", who(rank), contribution.call));
  if (contributions_ == 0) {
    collective_deadline_ = Clock::now() + options_.collective_timeout;
    first_contributor_ = rank;
  }
  const Contribution& first =
      contributions_ == 0 ? contribution : *seats_[first_contributor_].contribution;
  if (first.call != contribution.call || seat.contribution)
    return lose(rank,
                fmt::format("calls {} while {} calls {}", contribution.call,
                            who(first_contributor_), first.call),
                ExitCode::internal);
  seat.contribution = std::move(contribution);
  if (++contributions_ == world()) answer();
}

void Hub::answer() {
  Result result;
  const Contribution::Answer answer = seats_[0].contribution->answer;
  if (answer == Contribution::Answer::text_of_rank_0)
    result.texts.push_back(std::move(seats_[0].contribution->text));
  if (answer == Contribution::Answer::all_texts)
    for (Seat& seat : seats_) result.texts.push_back(std::move(seat.contribution->text));
  for (Seat& seat : seats_) seat.contribution.reset();
  contributions_ = 0;
  send_to_all(result.frame());
}

// --- leaving -------------------------------------------------------------------------------------

// Who is done stays, and goes on beating, until all are; any other last word is answered by the end
// of the connection.
void Hub::take_leave(int rank, const Leave& leave) {
  Seat& seat = seats_[rank];
  seat.phase = leave.phase;
  if (seat.state == Seat::State::left) return;
  seat.state = Seat::State::left;
  ++left_;
  if (leave.code == ExitCode::done) {
    if (first_leaver_ < 0) first_leaver_ = rank;
    if (left_ == world() && !symptom_) end({FrameType::farewell, ""}, "all ranks are done");
    return;
  }
  seat.connection.reset();
  const std::string what =
      fmt::format("left with code {}: {}", static_cast<int>(leave.code), leave.reason);
  if (leave.code != ExitCode::peer_lost)
    lose(rank, what, permanent(leave.code) ? leave.code : ExitCode::peer_lost);
  else if (!symptom_)
    symptom_ = {rank, what, Clock::now() + 2 * options_.heartbeat};
}

}  // namespace annulus::control
