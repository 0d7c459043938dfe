// The device memory of the other ranks of this host, mapped into this process. Device memory is one
// file per device, so one mapping serves every buffer of a peer, also those allocated later. Used
// by the shared-memory transport.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "comm/cpu/control_area.h"

namespace annulus::cpu::nccl {

class PeerMemory {
 public:
  PeerMemory(Members members, int rank) : members_(std::move(members)), rank_(rank) {}
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;

  // Where this process sees what `peer` calls `location`. Throws std::system_error.
  std::byte* locate(int peer, const Location& location);

 private:
  struct Mapping {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
  };
  const Mapping& map(int peer, int file);

  const Members members_;
  const int rank_;
  std::map<std::pair<int, int>, Mapping> mappings_;  // by peer and its descriptor
};

}  // namespace annulus::cpu::nccl
