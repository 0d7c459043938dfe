// The socket that rank 0 listens on, and what can be wrong with its port. Invariant: the port is
// the one that the peers know, never another. Called by comm/control.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "comm/control.h"
#include "comm/socket.h"

namespace annulus::control {

// Every address, IPv6 and IPv4, but a loopback host alone; with the queue that thousands of ranks
// need. Throws NetError; Kind::in_use where another process has the port.
Socket listen_as_rank_0(const ControlOptions& options);

// A warning where the kernel may give the port to any outgoing connection, else "". `range` is the
// text of /proc/sys/net/ipv4/ip_local_port_range.
std::string ephemeral_port_warning(int port, std::string_view range);

// Raises the soft limit on descriptors to what so many connections need. Throws UserError (usage)
// where the hard limit does not hold `least`.
void make_room_for_connections(std::size_t least, std::size_t wanted);

}  // namespace annulus::control
