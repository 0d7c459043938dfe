// The memory through which the ranks of one host steer their collectives: a memfd that rank 0
// makes and the others open through /proc, so nothing has a name and nothing is left after a kill.
// Invariant: a process maps an area once, however many of its threads are ranks. Used by the
// shared-memory transport.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/cpu/bootstrap_wire.h"
#include "comm/cpu/call.h"
#include "comm/cpu/signal.h"
#include "comm/socket.h"

namespace annulus::cpu::nccl {

constexpr std::size_t kSlotBytes = 4 << 10;  // messages up to this size go through slots

// Where a buffer lies: in a file of its process, and for ranks of one process its address.
struct Location {
  std::int32_t file = -1;
  std::uint64_t offset = 0;
  const std::byte* address = nullptr;
};

struct Posted {
  Call call;
  Location input, output;
};

// What one rank writes and all read. Calls and slots alternate between two: a rank that starts call
// n + 2 has seen all ranks arrive at n + 1, so all are done with n.
struct RankArea {
  Signal arrived;  // the number of the call that is posted
  Signal done;     // the number of the call whose part this rank has finished
  alignas(64) std::atomic<std::uint32_t> left;  // 1: has destroyed its communicator
  alignas(64) Posted posted[2];
  alignas(64) std::byte slot[2][kSlotBytes];
};

class ControlArea {
 public:
  // Rank 0. Throws std::system_error.
  static std::shared_ptr<ControlArea> make(const Nonce& nonce, int world);
  // The others; null if this process may not open what rank 0 made.
  static std::shared_ptr<ControlArea> open(const Nonce& nonce, const Members& members);

  ControlArea(Socket file, int world);
  ~ControlArea();
  ControlArea(const ControlArea&) = delete;

  int file() const { return file_.descriptor(); }
  RankArea& rank(int rank) const { return ranks_[rank]; }

 private:
  Socket file_;
  std::size_t bytes_;
  RankArea* ranks_;
};

}  // namespace annulus::cpu::nccl
