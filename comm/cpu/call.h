// A collective call as ranks compare it: what must be equal on all of them. Plain bytes, so that it
// lies in shared memory and goes over sockets as it is. Used by both transports and the monitor.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace annulus::cpu::nccl {

enum class Kind : std::int32_t { all_reduce, broadcast };

struct Call {
  std::uint64_t number = 0;  // of the communicator's calls, from 1
  std::uint64_t count = 0;   // elements
  Kind kind = Kind::all_reduce;
  std::int32_t type = ncclFloat32;  // ncclDataType_t
  std::int32_t op = ncclSum;        // ncclRedOp_t; ncclSum for a broadcast
  std::int32_t root = 0;            // 0 for an all-reduce

  bool operator==(const Call&) const = default;
};

// 0 for types that are not implemented.
std::size_t type_size(ncclDataType_t type);

// "ncclAllReduce(count 1024, ncclFloat32, ncclSum)".
std::string describe(const Call& call);

// Both calls with both ranks, and what to look for.
std::string describe_mismatch(int rank, const Call& call, int other_rank, const Call& other_call);

}  // namespace annulus::cpu::nccl
