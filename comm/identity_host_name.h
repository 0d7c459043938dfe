// What a pod's host name alone says, where no launcher has said more. Called by
// comm/identity_nodes and comm/identity.cpp.
#pragma once

#include <optional>

#include "comm/identity_nodes.h"

namespace annulus::identity {

// Whether this process runs in a pod; else a host name that looks like a worker's is a machine's.
bool in_a_pod(const Surroundings& surroundings);

// Identity (alone) where the name says nothing of others. `nodes` (--nodes) completes a name that
// does not say how many there are. Throws UserError (usage) for a name that is like a worker's and
// can be none, and for one that says that there are others and not how many.
Place place_by_host_name(const PodSurroundings& pod, std::optional<int> nodes);

}  // namespace annulus::identity
