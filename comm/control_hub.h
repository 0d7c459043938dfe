// Rank 0's side of the control channel: one thread that lets ranks in, runs the collectives, and
// tells all of the first loss. Rank 0's own member is connected to it like any other, over a socket
// pair, so no rank is a special case. Invariant: after its last word (a loss, a refusal of all, the
// farewell) nothing is sent; a turn costs what has happened, and a few times a second a look at
// every rank. Called by comm/control.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/control.h"
#include "comm/control_admission.h"
#include "comm/control_connection.h"
#include "comm/control_lobby.h"
#include "comm/control_poller.h"

namespace annulus::control {

class Hub {
 public:
  // `rank_0` leads to the rank whose hello this is.
  Hub(Socket listener, Socket rank_0, const Hello& own, const ControlOptions& options);
  // Returns when every rank has left or was told of a loss, within a second.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  std::vector<Fact> facts_of(int rank) const;  // after the rendezvous

  // Any thread: this is not the rank 0 that the others look for. Ends the rendezvous, for all.
  void step_down(const Refusal& refusal);

  // Guests that are looked after at once: their descriptors are needed beside the ranks'.
  static std::size_t most_guests(int world);

 private:
  struct Seat {
    enum class State { absent, present, left };  // left: as done
    State state = State::absent;
    std::optional<Connection> connection;
    Hello hello;
    std::string proof;  // for the welcome
    RemotePhase phase;
    std::optional<Contribution> contribution;
  };
  // A rank that left because of a peer; its cause may still be on the way.
  struct Symptom {
    int rank;
    std::string what;
    Clock::time_point due;
  };

  // The thread (control_hub.cpp).
  void run();
  void turn();
  void serve_whom_it_concerns();
  void look_around();
  bool finished();
  bool stop_requested() const;
  std::optional<Refusal> reason_to_step_down() const;
  void end(const Frame& last_word, const std::string& reason);

  // The rendezvous (control_hub_rendezvous.cpp).
  std::optional<Refusal> admit(const Lobby::Candidate& candidate);
  std::optional<Refusal> refuse_claim(const Hello& hello);
  void take_seat(const Lobby::Candidate& candidate);
  void vacate(int rank);
  void let_all_in();
  void rendezvous();
  void tell_who_is_absent();
  void refuse_late();
  void end_with_new_membership(const Refusal& refusal);
  void refuse_all(const Refusal& refusal);
  std::vector<int> absent() const;
  std::string words_about(const std::vector<int>& absent) const;

  // The ranks (control_hub_ranks.cpp).
  void serve_seat(int rank);
  void take_frame(int rank, const Frame& frame);
  void take_contribution(int rank, Contribution contribution);
  void answer();
  void take_leave(int rank, const Leave& leave);
  void send_heartbeats();
  void send_to_all(const Frame& frame);
  void send(int rank, const SharedBytes& bytes);

  // Losses (control_hub_losses.cpp).
  void judge();
  void judge_seat(int rank);
  void judge_collective();
  bool beats(const Seat& seat) const;
  void lose(int rank, const std::string& what, ExitCode code = ExitCode::peer_lost);

  std::string who(int rank) const;  // "rank 2 on host-b"
  int world() const { return expected_.world; }

  const ControlOptions options_;
  const Expectation expected_;
  const std::uint64_t nonce_of_rank_0_;
  const std::string host_of_rank_0_;
  const Clock::time_point began_ = Clock::now(), rendezvous_deadline_;
  Waker waker_;
  Poller poller_;
  Lobby lobby_;
  Beat beat_, look_;
  Clock::time_point turn_began_ = began_;  // all that had come by then is read in the turn
  Clock::time_point next_progress_;
  std::vector<Seat> seats_;
  int present_ = 0, left_ = 0;  // seats in these states

  bool open_ = false;  // the rendezvous is complete
  int contributions_ = 0, first_contributor_ = -1;
  Clock::time_point collective_deadline_{};
  int first_leaver_ = -1;
  bool somebody_is_gone_ = false;  // a connection has ended: judge now
  std::optional<Symptom> symptom_;

  bool ended_ = false;  // the last word was sent
  std::string end_reason_;
  std::optional<Refusal> refused_all_;  // it ended before it began
  Clock::time_point close_at_{};

  mutable std::mutex mutex_;  // guards what other threads touch
  bool stop_ = false;
  std::optional<Refusal> stepping_down_;
  std::vector<std::vector<Fact>> told_;
  std::thread thread_;
};

}  // namespace annulus::control
