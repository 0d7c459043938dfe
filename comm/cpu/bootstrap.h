// A rank's side of the bootstrap: says hello to the root of the unique id and learns who the others
// are. Invariant: every wait has a deadline, and what is thrown names the rank that is missing.
// Called by communicator.cpp.
#pragma once

#include <chrono>

#include "comm/cpu/bootstrap_wire.h"
#include "comm/socket.h"

namespace annulus::cpu::nccl {

class Bootstrap {
 public:
  // Collective. Throws NcclError.
  Bootstrap(const IdContents& id, int world, int rank, const Member& mine,
            std::chrono::milliseconds timeout);

  const Members& members() const { return members_; }

  // Collective: true on all ranks if all say true. Throws NcclError.
  bool agree(bool mine) const;

 private:
  Reply receive_reply() const;

  std::chrono::milliseconds timeout_;
  Socket root_;
  Members members_;
};

}  // namespace annulus::cpu::nccl
