// How findings are shown: a line each, or JSON; and the list of rules. Called by engine/cli.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/k8s/finding.h"

namespace annulus::k8s {

// "job.yaml:12: name-length: TrainJob x: FACT: REASON; FIX (Trainer 2.0 to 2.2)", as compilers
// write, and a last line that counts.
std::string to_text(const std::vector<Finding>& findings);

// One array of {"file", "line", "rule", "object", "fact", "reason", "fix", "releases"}.
std::string to_json(const std::vector<Finding>& findings);

std::string rules_text();
std::string rules_json();  // one array of {"name", "about", "what"}

}  // namespace annulus::k8s
