// What `annulus --help-exit-codes` prints: a line for each documented exit code, under a head.
// Called by main, and by the man page.
#pragma once

#include <string>

namespace annulus {

std::string exit_code_table();  // without a newline at its end

}  // namespace annulus
