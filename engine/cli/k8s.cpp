// See k8s.h. Findings and rules go to stdout.
#include "engine/cli/k8s.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "comm/console.h"
#include "engine/cli/add_option.h"
#include "engine/k8s/report.h"
#include "engine/k8s/source.h"

namespace annulus {
namespace {

void print(std::string text) {
  text.pop_back();  // its last line's end, which print_line adds
  print_line(text);
}

}  // namespace

void add_k8s_lint_options(CLI::App& app, K8sLintCommand& command) {
  app.add_option(
         "FILE", command.files,
         "manifests, several documents each; - is standard input: kubectl kustomize FOLDER | "
         "annulus k8s lint -. A TrainJob is read with its runtime, if that is given too")
      ->option_text("FILE");
  const char* group = "What to look for";
  add(app, group, "--trainer-version", command.options.releases,
      "releases of Kubeflow Trainer that the manifests are for; several with commas (default: 2.0 "
      "to 2.3); later: what comes after 2.3.0")
      ->check(CLI::IsMember(std::vector<std::string>(k8s::kReleases.begin(), k8s::kReleases.end())))
      ->option_text("2.0|2.1|2.2|2.3|later")
      ->delimiter(',')
      ->allow_extra_args(false);  // what comes next is a file
  add(app, group, "--ignore", command.options.ignored, "rules to leave out; several with commas")
      ->option_text("RULE")
      ->delimiter(',')
      ->allow_extra_args(false);  // what comes next is a file
  app.add_flag("--rules", command.rules, "list the rules, and do nothing else")
      ->envname("ANNULUS_RULES")
      ->group(group);
  app.add_flag("--json", command.json, "one JSON array instead of lines")
      ->envname("ANNULUS_JSON")
      ->group(group);
}

ExitCode run_k8s_lint(const K8sLintCommand& command) {
  if (command.rules) {
    print(command.json ? k8s::rules_json() : k8s::rules_text());
    return ExitCode::done;
  }
  if (command.files.empty())
    throw UserError(ExitCode::usage,
                    "k8s lint: no file is given; name manifests, or - for standard input");
  std::vector<k8s::Source> sources;
  std::vector<std::string> faults;
  for (const std::string& file : command.files) try {
      sources.push_back({file, k8s::read_source(file)});
    } catch (const UserError& error) {
      faults.emplace_back(error.what());
    }
  k8s::Verdict verdict;
  if (!sources.empty()) verdict = k8s::lint(sources, command.options);
  faults.insert(faults.end(), verdict.faults.begin(), verdict.faults.end());
  if (command.json)
    print(k8s::to_json(verdict.findings));
  else if (faults.empty() || !verdict.findings.empty())
    print(k8s::to_text(verdict.findings));
  std::ranges::for_each(faults, report_error);
  if (!faults.empty()) return ExitCode::data;
  return verdict.findings.empty() ? ExitCode::done : ExitCode::usage;
}

}  // namespace annulus
