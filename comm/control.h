// The control channel: one TCP connection from every rank to rank 0, from the rendezvous to the
// end. It lets in who belongs to the run, hands out the NCCL id, carries texts and barriers, and
// tells every rank when a peer is lost, and why. Invariant: no call waits without a deadline, and
// what a call throws names the rank that is missing. The wire format: docs/protocol.md. Called by
// engine/cli, engine/trainer and comm/communicator.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/identity.h"
#include "kernels/check.h"

namespace annulus {

// A peer is the reason; carries the exit code that this rank must end with.
class PeerError : public std::runtime_error {
 public:
  PeerError(ExitCode code, int rank, const std::string& message)
      : std::runtime_error(message), code_(code), rank_(rank) {}
  ExitCode code() const { return code_; }
  int rank() const { return rank_; }  // the peer; -1 where none can be named

 private:
  ExitCode code_;
  int rank_;
};

// One line of the hello, compared by rank 0 when all have arrived.
struct Fact {
  enum class Rule {
    must_agree,    // else UserError (usage) on every rank, showing both values and both ranks
    should_agree,  // else a warning on stderr of rank 0
    must_differ,   // a device: else UserError (device) on every rank
    tell           // only told: rank 0 can read it (facts_of)
  };
  std::string name, value;
  Rule rule = Rule::must_agree;
};

struct ControlOptions {
  std::string host = "127.0.0.1";  // of rank 0
  int port = 0;
  int listener = -1;  // rank 0: a listening descriptor it inherited, instead of host and port; the
                      // channel closes it
  std::string job;    // other jobs' hellos are refused
  std::vector<Fact> facts;
  std::string generation;  // which life of the job; "": worker 0's nonce is
  std::string secret;      // the bytes that all ranks of the run share; "": none. Never in a log
  int node = 0;            // index of this rank's node (a pod)
  int local_ranks = 1;     // ranks of this node; the same on all
  // The number of workers was found in DNS: a rank that knows of another number, or is beyond it,
  // is a late joiner, and every rank ends with `membership` (203).
  bool counted = false;
  // Rank 0: words about ranks that are absent, for progress and for the refusal at the deadline;
  // never waits. Without it ranks are listed by number.
  std::function<std::string(const std::vector<int>& ranks)> absent;
  // Once: rank 0 listens, any other rank begins to look for it. Called from join()'s thread.
  std::function<void()> at_the_door;
  // A line every few seconds while the rendezvous waits. Called from the channel's thread.
  std::function<void(const std::string& line)> progress;
  std::chrono::milliseconds rendezvous_timeout{60'000};  // until all ranks are here
  std::chrono::milliseconds heartbeat{500};
  std::chrono::milliseconds peer_timeout{5'000};  // a rank silent for so long is lost
  // A rank that lives but does not come to a collective for so long is lost, too.
  std::chrono::milliseconds collective_timeout{600'000};
  // A rank that has lost a peer ends within so long, even if its device never comes back.
  std::chrono::milliseconds exit_patience{60'000};
};

// Where a rank is, for the message when it is lost. Plain numbers: written on the hot path.
struct Phase {
  const char* name = "start";  // "start", "step", "evaluation", "end"; a literal
  std::size_t step = 0;        // from 1; 0: none
  int bucket = -1;             // -1: none
};

// Why a rank is no longer there.
struct Loss {
  int rank = -1;
  ExitCode code;  // what this rank must exit with: the peer's own code where it was permanent, else
                  // peer_lost
  std::string message;  // one line: which rank, on which host, what happened, in which phase
};

class ControlChannel {
 public:
  // The rendezvous. Throws PeerError (rendezvous, 200) that names the absent ranks, PeerError
  // (refused, 202) or UserError (usage, device) with rank 0's reason.
  static std::unique_ptr<ControlChannel> join(const Identity& identity,
                                              const ControlOptions& options);
  virtual ~ControlChannel() = default;

  // Collective: all ranks call them in the same order. They throw PeerError when a peer is lost.
  virtual std::vector<std::string> gather(const std::string& mine) = 0;  // every rank's, by rank
  virtual std::string broadcast(const std::string& of_rank_0) = 0;
  virtual void barrier(const char* name) = 0;

  virtual std::vector<Fact> facts_of(int rank) const = 0;  // on rank 0; elsewhere empty

  virtual void set_phase(const Phase& phase) = 0;  // any time, any thread; costs nanoseconds

  virtual std::optional<Loss> lost() const = 0;  // the first loss; cheap to ask
  // Called once, from the channel's own thread, at the first loss (or at once if it has happened).
  virtual void on_loss(std::function<void(const Loss&)> handler) = 0;

  // The last word of this rank; only the first call counts. With `done` it returns when every rank
  // has said so: ranks that live are waited for, however long their last files take; where one is
  // lost or fails instead, it throws PeerError, as a collective does. Any other code is the others'
  // loss, and returns at once. From then on no handler is called. A channel that is destroyed
  // without it leaves with `internal`.
  virtual void leave(ExitCode code, const std::string& reason) = 0;
};

}  // namespace annulus
