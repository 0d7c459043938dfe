// How findings are shown: a line each, grouped and aligned, or JSON. Called by engine/cli.
#pragma once

#include <string>
#include <vector>

#include "comm/terminal.h"
#include "engine/doctor/finding.h"

namespace annulus::doctor {

// "  warning  lo: loopback reaches this host only; set …", under the name of its group, and a last
// line that counts.
std::string to_text(const std::vector<Group>& groups, const Look& look);

// One array of {"group", "name", "state", "fact", "fix"}.
std::string to_json(const std::vector<Group>& groups);

// Of the first error; done if there is none.
ExitCode exit_code(const std::vector<Group>& groups);

}  // namespace annulus::doctor
