// A command line that cannot be understood, in one line: what, where and the fix, with the name
// that was probably meant. Called by main.
#pragma once

#include <string>

#include "engine/cli/cli11.h"

namespace annulus {

std::string usage_message(const CLI::ParseError& error, const CLI::App& root);

}  // namespace annulus
