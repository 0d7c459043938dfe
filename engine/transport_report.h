// How a run's ranks send to each other, in the words of NCCL's logs, said once when training
// starts: InfiniBand that was asked for and is not used costs a factor of ten and nothing else
// shows it. Called by engine/trainer.
#pragma once

#include <string>
#include <vector>

#include "comm/control.h"
#include "comm/infiniband.h"
#include "comm/nccl_transports.h"

namespace annulus {

// Collective, after the first collective of NCCL: lines for rank 0 to tell; empty on the others.
std::string transport_report(ControlChannel& control);

// Why it is no wish of the user that this rank sends through sockets; empty where it is, or where
// it does not.
std::string unused_infiniband(const NcclTransports& transports, const Environment& environment,
                              const std::vector<InfinibandDevice>& devices);

}  // namespace annulus
