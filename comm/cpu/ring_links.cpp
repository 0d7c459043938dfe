// Every rank calls the next one twice, then answers the two calls of the one before: the backlog
// takes the calls, so nobody waits in a circle.
#include "comm/cpu/ring_links.h"

#include <fmt/format.h>

#include "comm/cpu/error.h"

namespace annulus::cpu::nccl {
namespace {

enum class Purpose : std::int32_t { control, data };

struct Greeting {
  Nonce nonce{};
  std::int32_t rank = 0;
  Purpose purpose = Purpose::control;
};

Socket call_next(const Member& next, const Greeting& greeting, Deadline deadline) {
  Socket socket = connect_to(next.address.data(), static_cast<std::uint16_t>(next.port), deadline);
  socket.send(&greeting, sizeof greeting, deadline);
  return socket;
}

// False for a stranger.
bool take_call(Socket socket, const Nonce& nonce, int previous, RingLinks& links,
               Deadline deadline) {
  Greeting greeting;
  try {
    socket.receive(&greeting, sizeof greeting, deadline);
  } catch (const NetError& error) {
    if (error.kind() == NetError::Kind::closed) return false;
    throw;
  }
  if (greeting.nonce != nonce || greeting.rank != previous) return false;
  (greeting.purpose == Purpose::control ? links.control : links.data).previous = std::move(socket);
  return true;
}

}  // namespace

RingLinks connect_ring(const Socket& listener, const Members& members, int rank, const Nonce& nonce,
                       Deadline deadline) {
  const int world = static_cast<int>(members.size());
  const int next = (rank + 1) % world, previous = (rank + world - 1) % world;
  int missing = next;
  try {
    RingLinks links;
    const Member& neighbour = members[static_cast<std::size_t>(next)];
    links.control.next = call_next(neighbour, {nonce, rank, Purpose::control}, deadline);
    links.data.next = call_next(neighbour, {nonce, rank, Purpose::data}, deadline);
    missing = previous;
    for (int taken = 0; taken < 2;)
      taken += take_call(listener.accept(deadline), nonce, previous, links, deadline) ? 1 : 0;
    return links;
  } catch (const NetError& error) {
    throw NcclError(ncclRemoteError, fmt::format("rank {} has no connection with rank {}: {}", rank,
                                                 missing, error.what()));
  }
}

}  // namespace annulus::cpu::nccl
