// The hub's rendezvous: who gets a seat, who is told what while others are absent, and how it ends
// for all. The rules themselves: comm/control_admission. The invariants: comm/control_hub.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/console.h"
#include "comm/control_hub.h"

namespace annulus::control {
namespace {

constexpr std::chrono::milliseconds between_progress{5'000};

}  // namespace

std::optional<Refusal> Hub::admit(const Lobby::Candidate& candidate) {
  const Hello& hello = candidate.hello;
  if (refused_all_) return refused_all_;  // it comes to the same start a little later
  if (ended_) return Refusal{ExitCode::refused, "the run has ended: " + end_reason_};
  if (auto refusal = refuse_hello(hello, expected_)) {
    if (refusal->code == ExitCode::membership) end_with_new_membership(*refusal);
    return refusal;
  }
  if (hello.rank == 0 && !candidate.is_rank_0) {
    if (hello.nonce != nonce_of_rank_0_)
      return refuse_second_claim({.host = host_of_rank_0_}, hello);
    candidate.connection.close();  // rank 0 looks for itself, and has found itself
    return std::nullopt;
  }
  if (auto refusal = refuse_claim(hello)) return refusal;
  take_seat(candidate);
  return std::nullopt;
}

// A process may come again before the start, when its first connection broke, and one that was
// started again may take the place of one that is silent. After the start it is another life.
std::optional<Refusal> Hub::refuse_claim(const Hello& hello) {
  const Seat& seat = seats_[hello.rank];
  if (seat.state == Seat::State::absent) return std::nullopt;
  if (!open_ && (seat.hello.nonce == hello.nonce || !beats(seat))) return std::nullopt;
  if (!open_) return refuse_second_claim(seat.hello, hello);
  if (beats(seat)) return refuse_second_life(seat.hello, hello);
  lose(static_cast<int>(hello.rank), restarted(hello), ExitCode::refused);
  return Refusal{ExitCode::refused, end_reason_};
}

void Hub::take_seat(const Lobby::Candidate& candidate) {
  Seat& seat = seats_[candidate.hello.rank];
  if (std::exchange(seat.state, Seat::State::present) == Seat::State::absent) ++present_;
  seat.connection.emplace(std::move(candidate.connection));
  seat.hello = candidate.hello;
  seat.proof = candidate.proof;
  poller_.watch(*seat.connection, seat.hello.rank);
}

// Who goes away before all are here may come back until the deadline.
void Hub::vacate(int rank) {
  seats_[rank] = Seat{};
  --present_;
}

void Hub::let_all_in() {
  std::vector<Hello> hellos;
  for (const Seat& seat : seats_) hellos.push_back(seat.hello);
  const FactCheck check = compare_facts(hellos);
  for (const std::string& warning : check.warnings) note("annulus: warning: " + warning + "\n");
  if (check.refusal) return refuse_all(*check.refusal);
  {
    const std::lock_guard lock(mutex_);
    for (const Hello& hello : hellos) told_.push_back(hello.facts);
  }
  const std::string generation = expected_.generation.empty()
                                     ? fmt::format("{:016x}", nonce_of_rank_0_)
                                     : expected_.generation;
  for (int rank = 0; rank < world(); ++rank) {
    Seat& seat = seats_[rank];
    seat.connection->set_payload_limit(member_limit);
    seat.connection->start_clocks();
    send(rank, shared_bytes(Welcome{host_of_rank_0_, generation, seat.proof}.frame()));
  }
  open_ = true;
}

// A few times a second until all are here.
void Hub::rendezvous() {
  for (int rank = 0; rank < world(); ++rank)
    if (seats_[rank].state == Seat::State::present &&
        seats_[rank].connection->silent_for(options_.peer_timeout, turn_began_))
      vacate(rank);
  if (turn_began_ > rendezvous_deadline_) return refuse_late();
  if (turn_began_ < next_progress_) return;
  next_progress_ = turn_began_ + between_progress;
  tell_who_is_absent();
}

void Hub::tell_who_is_absent() {
  const std::vector<int> ranks = absent();
  std::vector<bool> incomplete(static_cast<std::size_t>(expected_.nodes()));
  for (const int rank : ranks) incomplete[rank / expected_.local_ranks] = true;
  const auto complete = std::count(incomplete.begin(), incomplete.end(), false);
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(turn_began_ - began_);
  const std::string words = fmt::format("{} of {} workers after {} s, missing {}", complete,
                                        expected_.nodes(), waited.count(), words_about(ranks));
  if (options_.progress) options_.progress("discovery: " + words);
  send_to_all(Waiting{words}.frame());
}

void Hub::refuse_late() {
  const std::vector<int> ranks = absent();
  const std::string words = options_.absent ? fmt::format(" ({})", options_.absent(ranks)) : "";
  const std::string& last = lobby_.last_refusal();
  const std::string refused = last.empty() ? "" : fmt::format("; somebody was refused, {}", last);
  refuse_all(
      {ExitCode::rendezvous,
       fmt::format("{} of {} did not come to rank 0 within {:g} s{}: see their logs, and whether "
                   "they reach its port {}{}",
                   rank_list(ranks), world(), seconds(options_.rendezvous_timeout), words,
                   lobby_.port(), refused)});
}

void Hub::end_with_new_membership(const Refusal& refusal) {
  if (open_)
    end(loss_frame({-1, refusal.code, refusal.reason}), refusal.reason);
  else
    refuse_all(refusal);
}

void Hub::refuse_all(const Refusal& refusal) {
  refused_all_ = refusal;
  end(refusal.frame(), refusal.reason);
}

std::vector<int> Hub::absent() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < world(); ++rank)
    if (seats_[rank].state == Seat::State::absent) ranks.push_back(rank);
  return ranks;
}

std::string Hub::words_about(const std::vector<int>& absent) const {
  return options_.absent ? options_.absent(absent) : rank_list(absent);
}

}  // namespace annulus::control
