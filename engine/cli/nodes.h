// From a node (a pod) to the ranks on it: what is around this process, who the other nodes are, and
// what its ranks are told. Invariant: what is found is said in one line on stderr. Called by
// engine/cli/ranks and engine/cli/topology.
#pragma once

#include <memory>

#include "comm/discovery.h"
#include "comm/identity.h"
#include "comm/launcher.h"
#include "comm/topology.h"
#include "engine/cli/rank_options.h"

namespace annulus {

Surroundings surroundings(const RankOptions& options);  // of this process

// The flags over resolv.conf and TF_WORKER_PORT.
DiscoveryOptions discovery_options(const RankOptions& options);

// Waits until the nodes are known; progress goes to stderr. Where neither --ranks nor the launcher
// says how many ranks a node has, the devices are shared among the nodes of this host.
Topology find_topology(const NodeIdentity& node, const RankOptions& options);

// The rank that this process itself is, where it is its node's only one; sets what ranks are told
// in its own environment.
Identity become_rank(const NodeIdentity& node, const Topology& topology);

// This node's ranks for the launcher. `seconds_to_meet`: what is left to them for the rendezvous.
LaunchPlace launch_place(const Topology& topology, double seconds_to_meet);

// On rank 0 of a run on several nodes: what DNS says of those that have not come. Null where their
// names are not known.
std::unique_ptr<AbsentWorkers> absent_workers(const Identity& identity, const RankOptions& options);

}  // namespace annulus
