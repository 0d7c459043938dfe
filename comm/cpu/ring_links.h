// A rank's connections to its two neighbours in the ring: one pair for control, one for data.
// Called by communicator.cpp.
#pragma once

#include "comm/cpu/bootstrap_wire.h"
#include "comm/socket.h"

namespace annulus::cpu::nccl {

// Towards the next rank, and from the one before.
struct RingLink {
  Socket next, previous;
};

struct RingLinks {
  RingLink control, data;
};

// Collective. `listener` is where the members' table says this rank listens. Throws NcclError that
// names the neighbour which is missing.
RingLinks connect_ring(const Socket& listener, const Members& members, int rank, const Nonce& nonce,
                       Deadline deadline);

}  // namespace annulus::cpu::nccl
