// One line of `annulus doctor`: what was looked at, how it stands, and what to do. The checks
// (checks.h) return findings, report.h shows them.
#pragma once

#include <string>
#include <vector>

#include "kernels/check.h"

namespace annulus::doctor {

enum class State {
  ok,
  note,     // a fact that nothing follows from
  warning,  // works, but not as well or not everywhere
  error
};

struct Finding {
  State state = State::ok;
  std::string name, fact;
  std::string fix = {};              // empty where there is nothing to do
  ExitCode code = ExitCode::device;  // what an error ends the program with: device or usage
};

// Findings that belong together: "devices", "network", …
struct Group {
  std::string name;
  std::vector<Finding> findings;
};

}  // namespace annulus::doctor
