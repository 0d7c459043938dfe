// How a run ended: the documented exit code and the one line that says why, from whatever was
// thrown. Called by main, and by the ranks of a run, which tell it to each other.
#pragma once

#include <exception>
#include <string>

#include "kernels/check.h"

namespace annulus {

struct Outcome {
  ExitCode code = ExitCode::done;
  std::string message;
};

Outcome outcome_of(const std::exception_ptr& error);

}  // namespace annulus
