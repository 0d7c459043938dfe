// Reads a pod's place out of its host name (struct PodName, comm/identity.h), as JobSet
// ({job}-node-{replica}-{index}) and the training operators ({job}-worker-{index}) write them.
// Called by comm/identity_nodes.
#pragma once

#include <optional>
#include <string_view>

#include "comm/identity.h"

namespace annulus {

// Nothing for a name without likeness to a worker's. Throws UserError (usage) for one that is like
// a worker's and can be none: a pod name with its random suffix, a number out of range, an empty
// job, a name that was cut at 63 characters. What follows a first dot is not looked at.
std::optional<PodName> parse_pod_name(std::string_view hostname);

}  // namespace annulus
