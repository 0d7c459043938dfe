// The process launchers, which start every rank themselves and tell it its number: Annulus's own,
// torchrun, Open MPI, Flux, Slurm. Called by comm/identity.cpp.
#pragma once

#include <optional>

#include "comm/identity_variables.h"

namespace annulus::identity {

// A number with the flag or variable it came from, for messages.
struct Named {
  const char* name = "";
  std::optional<int> value;
};

struct Numbers {
  Named rank, world, local_rank, local_world;
};

// Numbers that fit together, or UserError. Without a local rank a process is alone on its host; a
// local size that nobody tells is at least what the local rank needs.
Identity checked(const Numbers& numbers);

// What the innermost of them says; nothing where none started this process.
std::optional<Identity> detect_rank(const Variables& variables);

}  // namespace annulus::identity
