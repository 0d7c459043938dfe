// `annulus doctor`: what this machine can do for a run, and what to mend. Reads, never changes.
// Called by engine/cli.
#pragma once

#include <string>
#include <vector>

#include "comm/identity.h"
#include "engine/doctor/finding.h"

namespace annulus::doctor {

struct Options {
  std::string shared_memory = "/dev/shm";
  int ranks = 0;  // on this host; 0: one for each device
};

std::vector<Group> examine(const Options& options, const Environment& environment);

}  // namespace annulus::doctor
