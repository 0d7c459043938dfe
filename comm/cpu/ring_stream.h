// The bytes that one collective sends to the next rank of the ring and receives from the one
// before, both at once. What goes out follows what came in: after a lead of its own bytes a rank
// may send as much as it has taken in. Used by the ring transport.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "comm/socket.h"

namespace annulus::cpu::nccl {

struct OutgoingPart {
  const std::byte* data;
  std::size_t bytes;
};

struct IncomingPart {
  std::byte* data;  // where the bytes go
  std::size_t bytes;
  // If set, bytes are received aside, and this makes data[begin, end) of them and what it knows.
  std::function<void(const std::byte* received, std::size_t begin, std::size_t end)> combine = {};
  // If set, called when the part is complete; false ends the transfer.
  std::function<bool()> completed = {};
};

struct RingTransfer {
  std::vector<OutgoingPart> outgoing;
  std::vector<IncomingPart> incoming;
  std::size_t lead = 0;      // outgoing bytes that need nothing from the rank before
  std::size_t preamble = 0;  // incoming bytes that let nothing out
  std::size_t element_bytes = 1;
};

enum class TransferEnd { done, stopped, peer_gone };

class RingStream {
 public:
  RingStream(Socket next, Socket previous);

  // `stopped` is asked about every ten milliseconds of waiting.
  TransferEnd run(const RingTransfer& transfer, const std::function<bool()>& stopped);

 private:
  Socket next_, previous_;
  std::vector<std::byte> aside_;
};

}  // namespace annulus::cpu::nccl
