// From who I am to who we are: the list of workers, by DNS where the launcher does not name them.
// The protocol is the custom runtime's (docs/discovery.md), with its traps mended: names are
// asked absolutely, the ways to fail are told apart, a count needs to hold for a settle time.
// Invariant: returns in time or throws PeerError (rendezvous, 200) that names what is missing.
// Called by engine/cli.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/identity.h"
#include "comm/resolv_conf.h"
#include "comm/topology.h"

namespace annulus {

struct DiscoveryOptions {
  std::chrono::milliseconds timeout{600'000};
  std::chrono::milliseconds settle{5'000};  // an unknown number of workers must hold for so long
  int min_workers = 2;
  int port = 12345;                     // of a worker whose port is not told (TF_WORKER_PORT)
  std::string dns_servers;              // instead of resolv.conf's; for tests
  std::optional<ClusterNames> cluster;  // resolv.conf's, or what flags say
};

// Progress, once every few seconds: "discovery: waiting for cifar-node-0-0 (NXDOMAIN) after 12 s".
using Progress = std::function<void(const std::string& line)>;

// Does not touch the network where all workers are named, nor where only worker 0 is and the place
// tells no other name: those other hosts are then empty in the Topology. Throws UserError (usage)
// for lists that cannot be right, labels that DNS cannot hold, and names that cannot be made.
Topology discover(const NodeIdentity& node, const DiscoveryOptions& options,
                  const Progress& progress);

// While workers register with worker 0: what DNS says of those who are absent. Looks them up in a
// thread of its own, each at most once every few seconds.
class AbsentWorkers {
 public:
  virtual ~AbsentWorkers() = default;
  // "cifar-node-0-2 (NXDOMAIN)", "cifar-node-0-3 (10.244.0.13, not registered)"; at most three and
  // "and 5 more". Never waits.
  virtual std::string describe(const std::vector<int>& workers) = 0;
};
std::unique_ptr<AbsentWorkers> watch_absent(const Topology& topology,
                                            const DiscoveryOptions& options);

}  // namespace annulus
