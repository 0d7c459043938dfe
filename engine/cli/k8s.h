// The options and the run of `annulus k8s lint`. Called by main.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/cli11.h"
#include "engine/k8s/lint.h"
#include "kernels/check.h"

namespace annulus {

struct K8sLintCommand {
  std::vector<std::string> files;  // "-": standard input
  k8s::LintOptions options;
  bool json = false;
  bool rules = false;
};

void add_k8s_lint_options(CLI::App& app, K8sLintCommand& command);

// `done`; `usage` where there is something to mend; `data` where something given cannot be judged,
// which keeps no finding of the rest back.
ExitCode run_k8s_lint(const K8sLintCommand& command);

}  // namespace annulus
