// See lint.h.
#include "engine/k8s/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "engine/k8s/document.h"
#include "engine/k8s/input.h"
#include "engine/k8s/manifest.h"
#include "engine/k8s/rules.h"
#include "engine/terminal_text.h"
#include "kernels/check.h"

namespace annulus::k8s {
namespace {

void expect_rule(const std::string& name) {
  const auto is_it = [&](const Rule& rule) { return name == rule.name; };
  if (std::ranges::none_of(rules(), is_it))
    throw UserError(ExitCode::usage,
                    fmt::format("--ignore {}: there is no such rule; annulus k8s lint --rules "
                                "lists them",
                                name));
}

// What was given instead, in words: a TrainJob of another group is none.
std::string kinds_in(const std::deque<Manifest>& input) {
  std::set<std::string> kinds;
  for (const Manifest& manifest : input) {
    const std::string& version = manifest.root["apiVersion"].text;
    kinds.insert(manifest.word.empty() ? "something without kind"
                 : version.empty()
                     ? manifest.word.substr(0, 60) + " without apiVersion"
                     : fmt::format("{} of {}", manifest.word.substr(0, 60), version.substr(0, 60)));
  }
  if (kinds.empty()) return "no document at all";
  std::string words;
  for (const std::string& kind : kinds) {
    if (!words.empty()) words += ", ";
    if (words.size() > 200) return words + "…";
    words += kind;
  }
  return words;
}

bool holds_something(const std::deque<Manifest>& input) {
  return std::ranges::any_of(input,
                             [](const Manifest& manifest) { return manifest.kind != Kind::other; });
}

std::string holds_nothing(const std::vector<Source>& sources, const std::deque<Manifest>& input) {
  return terminal_text(fmt::format(
      "{}: holds {}; give a manifest that makes pods: TrainJob, a training runtime, "
      "Job, PyTorchJob, …",
      sources.size() == 1 ? sources.front().name : fmt::format("{} files", sources.size()),
      kinds_in(input)));
}

std::deque<Manifest> read_all(const std::vector<Source>& sources,
                              std::vector<std::string>& faults) {
  std::deque<Manifest> manifests;
  for (const Source& source : sources) try {
      for (Value& document : read_documents(source.name, source.text))
        append_manifests(source.name, std::move(document), manifests);
    } catch (const UserError& error) {
      faults.emplace_back(error.what());
    }
  return manifests;
}

// Sources stay in the order in which they were given.
void sort(std::vector<Finding>& findings, const std::vector<Source>& sources) {
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < sources.size(); ++i) places.try_emplace(sources[i].name, i);
  std::ranges::stable_sort(findings, [&](const Finding& a, const Finding& b) {
    return std::pair(places[a.file], a.line) < std::pair(places[b.file], b.line);
  });
}

}  // namespace

Verdict lint(const std::vector<Source>& sources, const LintOptions& options) {
  std::ranges::for_each(options.ignored, expect_rule);
  Verdict verdict;
  std::deque<Manifest> manifests = read_all(sources, verdict.faults);
  if (verdict.faults.empty() && !holds_something(manifests))
    verdict.faults.push_back(holds_nothing(sources, manifests));

  const Input input(std::move(manifests));
  Findings findings(options.releases.empty() ? kUpTo23 : Releases::of(options.releases));
  for (const Manifest& manifest : input.manifests()) {
    findings.look_at(manifest.file, manifest.object());
    for (const Rule& rule : rules()) {
      if (std::ranges::find(options.ignored, rule.name) != options.ignored.end()) continue;
      findings.by(rule.name);
      rule.check({manifest, input}, findings);
    }
  }
  verdict.findings = findings.take();
  sort(verdict.findings, sources);
  return verdict;
}

}  // namespace annulus::k8s
