// The environment knobs of the CPU device's NCCL, declared once in one table and read when a
// communicator is made. Two are NCCL's own; those that choose interfaces are comm/interfaces.h's.
// Read by the bootstrap, the communicator and `--help-env`.
#pragma once

#include <chrono>
#include <string>

namespace annulus::cpu::nccl {

struct Options {
  std::chrono::milliseconds timeout{30'000};
  bool silent = false;
  bool shared_memory = true;
  std::string host;  // empty: this machine's boot
  int version = 0;   // 0: that of nccl.h
};

// Throws UserError (usage) for a value that is not accepted.
Options read_options();

}  // namespace annulus::cpu::nccl
