// What the ranks of a communicator tell each other of themselves when it is made, and what follows
// from it: who shares a host, and who a process. Plain bytes: it goes over sockets as it is.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/cpu/options.h"

namespace annulus::cpu::nccl {

using Text = std::array<char, 64>;  // ends in a zero
Text make_text(const std::string& text);

struct Member {
  Text host{};                      // the boot of its machine, or NCCL_HOSTID
  std::uint64_t process_space = 0;  // its PID namespace
  std::int32_t process = 0;
  std::int32_t device = 0;
  std::int32_t shares_memory = 0;  // NCCL_SHM_DISABLE is not set
  std::int32_t area_file = -1;     // rank 0's descriptor of the control area
  Text address{};                  // where its neighbour in the ring reaches it
  std::int32_t port = 0;
};
using Members = std::vector<Member>;  // by rank

Member describe_this_process(const Options& options, int device);

// Processes that see each other under the same number; only they can map each other's memory.
bool share_host(const Member& a, const Member& b);
bool share_process(const Member& a, const Member& b);

}  // namespace annulus::cpu::nccl
