// The messages of the control channel as plain values, each with its frame. The fields and their
// order: docs/protocol.md. Invariant: what from() returns was complete and names nothing in
// characters that a terminal obeys; else it throws BadFrame. Called by the rest of comm/control*.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/control.h"
#include "comm/control_frames.h"
#include "comm/control_heartbeat.h"

namespace annulus::control {

struct Hello {
  std::string job;
  std::string generation;  // which life of the job; "" where nobody told it
  std::uint64_t rank = 0, world = 0;
  std::uint64_t node = 0, local_ranks = 1;  // index of its node, ranks of a node
  std::uint64_t nonce = 0;  // of this process: a second process cannot take over its rank
  std::string host;
  bool has_secret = false;
  std::vector<Fact> facts;

  Frame frame() const;
  static Hello from(const Frame& frame);
};

struct Welcome {
  std::string host;        // of rank 0
  std::string generation;  // of the run
  std::string proof;       // that rank 0 has the secret; empty without one

  Frame frame() const;
  static Welcome from(const Frame& frame);
};

struct Refusal {
  ExitCode code = ExitCode::refused;
  std::string reason;

  Frame frame() const;
  static Refusal from(const Frame& frame);
};

// Rank 0 has a secret: whoever said hello must show that it has the same.
struct Challenge {
  std::string bytes;

  Frame frame() const;
  static Challenge from(const Frame& frame);
};

struct Proof {
  std::string bytes;

  Frame frame() const;
  static Proof from(const Frame& frame);
};

// The rendezvous goes on without the rank's help.
struct Waiting {
  std::string words;  // "3 of 4 workers after 12 s, missing rank 3"

  Frame frame() const;
  static Waiting from(const Frame& frame);
};

struct Heartbeat {
  RemotePhase phase;

  Frame frame() const;
  static Heartbeat from(const Frame& frame);
};

struct Contribution {
  enum class Answer { all_texts, text_of_rank_0, nothing };
  Answer answer = Answer::nothing;
  std::string call;  // "gather", "broadcast", "barrier 'epoch'": the same on all ranks
  std::string text;

  Frame frame() const;
  static Contribution from(const Frame& frame);
};

struct Result {
  std::vector<std::string> texts;

  Frame frame() const;
  static Result from(const Frame& frame);
};

struct Leave {
  ExitCode code = ExitCode::done;
  std::string reason;
  RemotePhase phase;

  Frame frame() const;
  static Leave from(const Frame& frame);
};

Frame loss_frame(const Loss& loss);
Loss loss_from(const Frame& frame);

}  // namespace annulus::control
