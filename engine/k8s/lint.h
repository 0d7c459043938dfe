// `annulus k8s lint`: files of manifests in, findings out. Reads, never changes; asks no cluster.
// Called by engine/cli.
#pragma once

#include <string>
#include <vector>

#include "engine/k8s/finding.h"

namespace annulus::k8s {

struct LintOptions {
  std::vector<std::string> releases;  // of kReleases; empty: 2.0 to 2.3
  std::vector<std::string> ignored;   // names of rules
};

struct Source {
  std::string name;  // of the file, or "-"
  std::string text;
};

struct Verdict {
  std::vector<Finding> findings;    // sorted as they stand in the sources
  std::vector<std::string> faults;  // a line each: a source that is not YAML, or nothing in any of
                                    // them that a rule knows
};

// All sources are one input: a TrainJob finds its runtime in any of them. One that cannot be read
// keeps nothing of the others back. Throws UserError (usage) where a name of `ignored` is no
// rule's.
Verdict lint(const std::vector<Source>& sources, const LintOptions& options);

}  // namespace annulus::k8s
