// The ordered list of workers that all nodes of a run agree on, and its renderings for other
// programs: TF_CONFIG in the bytes of Python's json.dumps, torchrun's variables, an MPI hostfile.
// Invariant: workers are in the order of their index, hosts are names or addresses that the other
// nodes can resolve, without a trailing dot. Made by comm/discovery; called by engine/cli.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "comm/endpoint.h"

namespace annulus {

struct Topology {
  std::vector<Endpoint> workers;  // a host may be empty where only worker 0 was told
  int index = 0;                  // of this node
  bool chief = false;   // worker 0's task type is "chief", and workers count from 0 behind it
  int local_ranks = 1;  // ranks a node
  bool counted =
      false;        // the number of workers was found in DNS, not told: a later one is an error
  std::string job;  // may be empty
  double discovery_seconds = 0;  // until all of this was known

  int nodes() const { return static_cast<int>(workers.size()); }
  bool complete() const {
    return std::none_of(workers.begin(), workers.end(),
                        [](const Endpoint& worker) { return worker.host.empty(); });
  }
};

// Of a complete one: {"cluster": {"worker": ["…:12345"]}, "task": {"type": "worker", "index": 0}}
std::string tf_config_text(const Topology& topology);

// MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK of one rank
// of this node (torchrun's documentation, "Environment Variables").
std::vector<std::pair<std::string, std::string>> torchrun_variables(const Topology& topology,
                                                                    int local_rank);

// What torchrun itself reads, "PET_NNODES=2" a line (its options' names in the environment).
std::string torchrun_text(const Topology& topology);

// Of a complete one: "host slots=N" a line (Open MPI's mpirun(1), "Host files").
std::string hostfile_text(const Topology& topology);

}  // namespace annulus
