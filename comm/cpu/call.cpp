// Names and sizes of what a call is made of.
#include "comm/cpu/call.h"

#include <fmt/format.h>

#include <array>

namespace annulus::cpu::nccl {
namespace {

struct Type {
  ncclDataType_t type;
  std::size_t size;
  const char* name;
};

constexpr std::array kTypes = {
    Type{ncclInt8, 1, "ncclInt8"},       Type{ncclUint8, 1, "ncclUint8"},
    Type{ncclInt32, 4, "ncclInt32"},     Type{ncclUint32, 4, "ncclUint32"},
    Type{ncclInt64, 8, "ncclInt64"},     Type{ncclUint64, 8, "ncclUint64"},
    Type{ncclFloat16, 2, "ncclFloat16"}, Type{ncclFloat32, 4, "ncclFloat32"},
    Type{ncclFloat64, 8, "ncclFloat64"}, Type{ncclBfloat16, 2, "ncclBfloat16"},
};

const Type* find_type(int type) {
  for (const Type& row : kTypes) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

}  // namespace

std::size_t type_size(ncclDataType_t type) {
  const Type* found = find_type(type);
  return found == nullptr ? 0 : found->size;
}

std::string describe(const Call& call) {
  const Type* type = find_type(call.type);
  const std::string what =
      fmt::format("count {}, {}", call.count, type == nullptr ? "unknown type" : type->name);
  if (call.kind == Kind::broadcast)
    return fmt::format("ncclBroadcast({}, root {})", what, call.root);
  return fmt::format("ncclAllReduce({}, {})", what, call.op == ncclAvg ? "ncclAvg" : "ncclSum");
}

std::string describe_mismatch(int rank, const Call& call, int other_rank, const Call& other_call) {
  return fmt::format(
      "call {} of the communicator is {} on rank {}, but {} on rank {}: all ranks must make the "
      "same calls in the same order",
      call.number, describe(call), rank, describe(other_call), other_rank);
}

}  // namespace annulus::cpu::nccl
