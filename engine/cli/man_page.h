// annulus(1) in the man macros of roff, made from the command line's own table, the exit codes and
// the environment knobs. Called by main for `annulus man`.
#pragma once

#include <string>

#include "engine/cli/cli11.h"

namespace annulus {

std::string man_page(const CLI::App& root);

}  // namespace annulus
