// The launcher: starts one process per local device (this program again, with the same arguments),
// gives each its identity and its share of the cores, forwards signals, and ends all when one
// fails. Invariant: when it returns, no process it started is left. Called by engine/cli for
// --ranks, and in each pod that has more than one device.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/endpoint.h"
#include "comm/identity.h"

namespace annulus {

// This node among the nodes of a run.
struct LaunchPlace {
  int first_rank = 0, world = 1;
  int first_local_rank = 0, local_world = 1;  // on this host, which several nodes may share
  Endpoint rendezvous;                        // where rank 0 listens
  std::string job;
  // Variables set for a rank, besides its identity; may be empty.
  std::function<std::vector<std::pair<std::string, std::string>>(int local_rank)> environment;
};

struct LaunchOptions {
  int ranks = 1;                     // to start here
  std::vector<std::string> command;  // argv of each rank; run from /proc/self/exe
  // When one rank has failed the others have half of it to end by themselves, then SIGTERM, and all
  // of it until SIGKILL; ranks that are stopped are killed as soon as no other is left.
  std::chrono::milliseconds grace{5'000};
  // Nothing: all ranks are here, and rank 0 listens on a port of 127.0.0.1 that is taken for it.
  std::optional<LaunchPlace> place;
};

// stdout of rank 0 goes to stdout unprefixed; every rank's stderr, line by line, to stderr behind
// "[rank 2] ". Returns the exit code of the whole: 0, or that of the first cause (a rank killed by
// a signal counts as peer_lost; a permanent code of any rank comes first; 143 and 130 after a
// forwarded SIGTERM or SIGINT, which gives ranks all the time they need). A second SIGTERM or
// SIGINT, a second or more later, kills the ranks. Environment variables set for the ranks unless
// set already: ANNULUS_CPU_THREADS (a rank's share of the cores), ANNULUS_CPU_MODE (threads).
int launch(const LaunchOptions& options);

// In a rank that the launcher started: the descriptor on which rank 0 listens, for
// ControlOptions::listener; -1 elsewhere.
int inherited_listener(const Environment& environment);

// The cores this process may use: its affinity mask, less what a cgroup CPU quota leaves.
unsigned int usable_cores();

}  // namespace annulus
