// The launcher: starts one process per local device (this program again, with the same arguments),
// gives each its identity and its share of the cores, forwards signals, and ends all when one
// fails. Invariant: when it returns, no process it started is left. Called by engine/cli for
// --ranks.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace annulus {

struct LaunchOptions {
  int ranks = 1;
  std::vector<std::string> command;        // argv of each rank; run from /proc/self/exe
  std::chrono::milliseconds grace{5'000};  // between SIGTERM and SIGKILL for the remaining ranks
};

// stdout of rank 0 goes to stdout unprefixed; every rank's stderr, line by line, to stderr behind
// "[rank 2] ". Returns the exit code of the whole: 0, or that of the first cause (a rank killed by
// a signal counts as peer_lost; 143 and 130 after a forwarded SIGTERM or SIGINT).
int launch(const LaunchOptions& options);

// The cores this process may use: its affinity mask, less what a cgroup CPU quota leaves.
unsigned int usable_cores();

}  // namespace annulus
