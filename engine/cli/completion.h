// Completion scripts for shells, made from the command line's own table: commands, options, the
// values of options that know theirs, files and folders where a path is wanted. A script holds all
// it needs: completing starts no program. Called by main for `annulus completion`.
#pragma once

#include <string>

#include "engine/cli/cli11.h"

namespace annulus {

std::string bash_completion(const CLI::App& root);
std::string zsh_completion(const CLI::App& root);

}  // namespace annulus
