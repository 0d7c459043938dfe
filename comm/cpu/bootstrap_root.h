// The root of a unique id: a thread of the process that asked for the id, which every rank of the
// communicator connects to. It waits until all are there, names those that are not, and tells
// every rank who the others are. Called by ncclGetUniqueId.
#pragma once

#include <nccl.h>

namespace annulus::cpu::nccl {

// Listens where NCCL's interface rules say and starts the thread, which ends with its one
// communicator. Throws UserError (a knob, no interface) or NetError.
ncclUniqueId start_bootstrap_root();

}  // namespace annulus::cpu::nccl
