// `annulus runs`: runs in a list, a line each, or two and more beside each other: where their
// settings differ, and what came out. Called by engine/cli.
#pragma once

#include <string>
#include <vector>

#include "engine/runs/run_record.h"

namespace annulus::runs {

std::string list_text(const std::vector<RunRecord>& runs, Time now);
std::string list_json(const std::vector<RunRecord>& runs, Time now);  // an array of objects

// A column a run; of config.json only what differs between them. `command` is left out, as the
// settings say what it said.
std::string comparison_text(const std::vector<RunRecord>& runs, Time now);

// {"runs": as in the list, "differences": {"recipe.momentum": [0.9, 0.8], …}}.
std::string comparison_json(const std::vector<RunRecord>& runs, Time now);

}  // namespace annulus::runs
