// This host's name, as gethostname(2) tells it; in a pod the pod's. Called by the control channel
// and engine/cli.
#pragma once

#include <unistd.h>

#include <array>
#include <string>

namespace annulus {

inline std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace annulus
