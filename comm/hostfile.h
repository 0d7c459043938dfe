// MPI host files: Open MPI's "host slots=N" (mpirun(1), "Host files") and MPICH's "host:N" (Hydra),
// as MPI operators mount them. Called by comm/identity_operators.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace annulus {

struct HostSlots {
  std::string host;
  int slots = 1;  // processes to start there
  bool operator==(const HostSlots& other) const = default;
};

// In order; empty lines and what follows a '#' are left out. Throws UserError (usage) with `source`
// and the number of the line.
std::vector<HostSlots> parse_hostfile(const std::string& source, std::string_view text);

}  // namespace annulus
