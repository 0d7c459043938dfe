// The cores of this process and how local ranks share them. Ranks are pinned only where the mask
// was given to this process alone (a strict subset of the machine): on a shared machine the
// scheduler knows better. Called by comm/launcher.
#pragma once

#include <filesystem>
#include <vector>

namespace annulus {

struct Cores {
  std::vector<int> allowed;  // the affinity mask, ascending
  int online = 1;            // of the machine
  double quota = 0;          // cores' worth of CPU time that a cgroup leaves; 0: no quota
};

Cores cores_of_this_process();

// At least 1.
unsigned int usable_cores(const Cores& cores);

struct CoreShare {
  std::vector<int> pinned_to;  // empty: not pinned
  unsigned int threads = 1;    // as many as there are cores for it, at least 1
};

std::vector<CoreShare> share_cores(const Cores& cores, int ranks);  // by rank

// The smallest quota from this process's cgroup up to the root, of cgroup v2 (cpu.max) or v1
// (cpu.cfs_quota_us); 0 where there is none. `root` is "/", or a test's copy of the files.
double cgroup_quota(const std::filesystem::path& root);

}  // namespace annulus
