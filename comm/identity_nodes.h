// The pod launchers, which start one process a pod and tell it, some more and some less, where it
// stands among the others. Called by comm/identity.cpp.
#pragma once

#include <optional>
#include <string>

#include "comm/identity_variables.h"

namespace annulus::identity {

// What one source says, with the names under which it does, for messages.
struct NodeClaim {
  NodeIdentity node;
  std::string index_name, nodes_name;  // "RANK", "WORLD_SIZE"; empty: out of the host name
};

// What the detectors look at.
struct PodSurroundings {
  Variables variables;
  std::string host;            // this pod's host name, without what follows a first dot
  std::optional<PodName> pod;  // what the host name says; nothing where it says nothing sound
  const Surroundings& all;
};

PodSurroundings pod_surroundings(const Surroundings& surroundings);

// The place that the environment and the host name give; Identity (alone) where they give none.
// `nodes` (--nodes) completes a host name that does not say how many there are.
Place detect_node(const Surroundings& surroundings, std::optional<int> nodes);

}  // namespace annulus::identity
