// Rank 0's side of the control channel: one thread that lets ranks in, runs the collectives, and
// tells all of the first loss. Rank 0's own member is connected to it like any other, over a socket
// pair, so no rank is a special case. Invariant: after the first loss (or refusal of all) nothing
// but that is sent; a stranger costs one bounded buffer for a bounded time. Called by comm/control.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/control.h"
#include "comm/control_admission.h"
#include "comm/control_connection.h"

namespace annulus::control {

class Hub {
 public:
  Hub(Socket listener, Socket rank_0, Expectation expected, const ControlOptions& options);
  // Returns when every rank has left or was told of a loss, within peer_timeout and a second.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  std::vector<Fact> facts_of(int rank) const;  // after the rendezvous

 private:
  // Somebody who has not been let in: no hello yet, or a refusal that is still under way.
  struct Guest {
    Connection connection;
    Clock::time_point until;
    bool refused = false;
  };
  struct Seat {
    enum class State { absent, present, left };
    State state = State::absent;
    std::optional<Connection> connection;
    Hello hello;
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
  void serve();
  void wait_for_events();
  bool finished();
  bool stop_requested() const;

  // Guests and the rendezvous (control_hub.cpp).
  void take_guest();
  void serve_guests();
  void read_hello(Guest& guest, const Frame& frame);
  void refuse(Guest& guest, const Refusal& refusal);
  void rendezvous();
  void let_all_in();
  void refuse_late();
  void refuse_all(const Refusal& refusal);

  // The ranks (control_hub_ranks.cpp).
  void serve_seats();
  void serve_seat(int rank);
  void take_frame(int rank, const Frame& frame);
  void take_contribution(int rank, Contribution contribution);
  void answer_when_complete();
  void take_leave(int rank, const Leave& leave);
  void send_heartbeats();

  // Losses (control_hub_ranks.cpp).
  void judge();
  void judge_seat(int rank);
  void judge_collective();
  void lose(int rank, const std::string& what, ExitCode code = ExitCode::peer_lost);
  void end(const Frame& last_word, const std::string& reason);

  std::string who(int rank) const;  // "rank 2 on host-b"
  int world() const { return expected_.world; }
  bool all(Seat::State state) const;

  const Expectation expected_;
  const ControlOptions options_;
  const Clock::time_point rendezvous_deadline_;
  Socket listener_;
  Waker waker_;
  Beat beat_;
  bool somebody_knocks_ = false;
  std::list<Guest> guests_;
  std::vector<Seat> seats_;
  std::string last_refusal_;  // of a hello: it may explain why a rank is absent

  bool open_ = false;  // the rendezvous is complete
  Clock::time_point collective_deadline_{};
  int first_leaver_ = -1;
  Clock::time_point first_left_{};
  std::optional<Symptom> symptom_;

  bool ended_ = false;  // the last word was sent
  std::string end_reason_;
  Clock::time_point close_at_{};

  mutable std::mutex mutex_;  // guards what other threads touch: stop_ and told_
  bool stop_ = false;
  std::vector<std::vector<Fact>> told_;
  std::thread thread_;
};

}  // namespace annulus::control
