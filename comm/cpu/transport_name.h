// What NCCL's API does not tell: how a communicator moves its bytes. For the bench's `transport`
// column; on GPUs it only says that NCCL knows.
#pragma once

#include <nccl.h>

namespace annulus::cpu::nccl {

// "shared memory" or "tcp"; null while the communicator is being made.
const char* transport_name(ncclComm_t comm);

}  // namespace annulus::cpu::nccl
