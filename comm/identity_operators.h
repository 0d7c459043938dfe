// One detector for each way in which Kubernetes operators tell a pod its place: variables with
// their names, meanings and traps. Called by comm/identity_nodes.
#pragma once

#include <optional>

#include "comm/identity_nodes.h"

namespace annulus::identity {

// Trainer's torch policy, PyTorchJob: PET_*, torchrun's own settings.
std::optional<NodeClaim> detect_pet(const PodSurroundings& pod);

// PyTorchJob with a master, Volcano's pytorch plugin: RANK is a pod's, WORLD_SIZE counts pods or
// processes.
std::optional<NodeClaim> detect_pytorch(const PodSurroundings& pod);

// Trainer's jax policy.
std::optional<NodeClaim> detect_jax(const PodSurroundings& pod);

// The training operator's JAXJob.
std::optional<NodeClaim> detect_jax_job(const PodSurroundings& pod);

// Volcano's env and svc plugins: task indices and host lists by role (comm/identity_volcano.cpp).
std::optional<NodeClaim> detect_volcano(const PodSurroundings& pod);

// Volcano's env plugin without svc, on a pod that is not the only one: throws UserError (usage).
void refuse_volcano_without_hosts(const PodSurroundings& pod);

// MPIJob starts nothing in its pods: throws UserError (usage) that says how to, in one of them.
void refuse_mpi_job(const PodSurroundings& pod);

}  // namespace annulus::identity
