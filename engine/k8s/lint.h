// `annulus k8s lint`: files of manifests in, findings out. Reads, never changes; asks no cluster.
// Called by engine/cli.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/k8s/finding.h"

namespace annulus::k8s {

struct LintOptions {
  std::vector<std::string> releases;  // of kReleases; empty: 2.0 to 2.3
  std::vector<std::string> ignored;   // names of rules
};

// What stands in files and what each holds, all of it one input: a TrainJob finds its runtime in
// any of them. Sorted as they stand there. Throws UserError: data where one is not YAML, or where
// none holds an object that a rule knows; usage where a name of `ignored` is no rule's.
std::vector<Finding> lint(const std::vector<std::pair<std::string, std::string>>& files,
                          const LintOptions& options);

}  // namespace annulus::k8s
