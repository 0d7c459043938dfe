// Every environment knob: the twins of the options, derived from the command line's own table, and
// what rooms declare beside the code that reads it (kernels/environment.h). Called by main for
// --help-env, and by the man page.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/cli11.h"

namespace annulus {

struct Variable {
  std::string name, meaning, standard;  // standard: what holds when it is not set; may be empty
};

struct VariableGroup {
  std::string heading;
  std::vector<Variable> variables;
};

// The twins first.
std::vector<VariableGroup> environment_variables(const CLI::App& root);

// "  NAME    meaning (default: …; now: …)", grouped, for a terminal or a pipe.
std::string environment_table(const CLI::App& root);

}  // namespace annulus
