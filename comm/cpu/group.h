// ncclGroupStart and ncclGroupEnd: what a thread calls between them is kept, and issued at the end
// of the outermost group. Outside a group, calls are issued at once. Called by nccl_api.cpp.
#pragma once

#include <nccl.h>

#include <functional>
#include <memory>

#include "comm/cpu/communicator.h"

namespace annulus::cpu::nccl {

void start_group();
ncclResult_t end_group();

// What could not even be kept is the result of the group's end too.
ncclResult_t refuse_in_group(ncclResult_t result);

ncclResult_t issue_or_keep(std::shared_ptr<Communicator> communicator, const Collective& collective,
                           cudaStream_t stream);

// Connects the communicators of one group at the same time, each of which waits for the others.
ncclResult_t connect_or_keep(std::shared_ptr<Communicator> communicator, bool blocking);

}  // namespace annulus::cpu::nccl
