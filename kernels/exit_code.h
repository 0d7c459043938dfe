// The documented exit codes, and the table that `annulus --help-exit-codes` and docs/exit-codes.md
// show. Invariant: a row for each enumerator, by number; 1 to 127 are permanent, from 128 up the
// same command may succeed when it is started again. Every error carries one; main ends with it.
#pragma once

#include <array>

namespace annulus {

enum class ExitCode : int {
  done = 0,
  internal = 1,
  usage = 2,
  data = 3,
  device = 4,
  diverged = 5,
  storage = 6,
  stuck = 7,
  interrupted = 130,
  terminated = 143,
  rendezvous = 200,
  peer_lost = 201,
  refused = 202,
  membership = 203,
  device_fault = 204,
};

struct ExitCodeInfo {
  ExitCode code;
  const char* name;
  const char* meaning;

  constexpr int number() const { return static_cast<int>(code); }
  constexpr bool retryable() const { return number() >= 128; }
};

inline constexpr std::array kExitCodes{
    ExitCodeInfo{ExitCode::done, "done", "all that was asked for is done"},
    ExitCodeInfo{ExitCode::internal, "internal", "internal error: a fault of Annulus itself"},
    ExitCodeInfo{ExitCode::usage, "usage",
                 "option, environment, identity, version or secret that cannot be right"},
    ExitCodeInfo{ExitCode::data, "data", "data, weights or checkpoint unusable"},
    ExitCodeInfo{ExitCode::device, "device", "no device or driver, or not enough memory"},
    ExitCodeInfo{ExitCode::diverged, "diverged", "the loss is not a number, or infinite"},
    ExitCodeInfo{ExitCode::storage, "storage",
                 "what was to be written cannot be: full, read-only, missing or closed"},
    ExitCodeInfo{ExitCode::stuck, "stuck", "third start from the same step without progress"},
    ExitCodeInfo{ExitCode::interrupted, "interrupted", "stopped by SIGINT"},
    ExitCodeInfo{ExitCode::terminated, "terminated", "stopped by SIGTERM"},
    ExitCodeInfo{ExitCode::rendezvous, "rendezvous",
                 "not every rank was found or came before the deadline"},
    ExitCodeInfo{ExitCode::peer_lost, "peer-lost", "another rank went away or fell silent"},
    ExitCodeInfo{ExitCode::refused, "refused",
                 "rank refused: of another incarnation, generation, index or job"},
    ExitCodeInfo{ExitCode::membership, "membership", "late joiner: the set of ranks has changed"},
    ExitCodeInfo{ExitCode::device_fault, "device-fault",
                 "a call of the device or of NCCL failed on the way"},
};

}  // namespace annulus
