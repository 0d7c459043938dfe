// What the ranks of a communicator and the root of its id send each other: a hello, the table of
// all members, then a vote on the transport. Structs go as they are: all ranks are one build.
#pragma once

#include <nccl.h>

#include <array>
#include <cstdint>

#include "comm/cpu/member.h"

namespace annulus::cpu::nccl {

using Nonce = std::array<std::uint64_t, 2>;  // random; tells one communicator from another

constexpr std::uint64_t kBootstrapMagic = 0x4C43434E6E6E4131;

// The contents of a ncclUniqueId.
struct IdContents {
  std::uint64_t magic = kBootstrapMagic;
  Nonce nonce{};
  Text address{};
  std::int32_t port = 0;
};
static_assert(sizeof(IdContents) <= sizeof(ncclUniqueId));

struct Hello {
  std::uint64_t magic = kBootstrapMagic;
  Nonce nonce{};
  std::int32_t version = NCCL_VERSION_CODE;
  std::int32_t world = 0;
  std::int32_t rank = 0;
  Member member;
};

// Answers a hello (the members follow a success) and a vote.
struct Reply {
  std::int32_t result = ncclSuccess;
  std::int32_t agreed = 0;
  std::array<char, 504> message{};
};

}  // namespace annulus::cpu::nccl
