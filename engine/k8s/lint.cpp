// See lint.h.
#include "engine/k8s/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "engine/k8s/document.h"
#include "engine/k8s/manifest.h"
#include "engine/k8s/rules.h"
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

// What was given instead, in words.
std::string kinds_in(const std::deque<Manifest>& input) {
  std::set<std::string> kinds;
  for (const Manifest& manifest : input)
    kinds.insert(manifest.word.empty() ? "something without kind" : manifest.word.substr(0, 60));
  if (kinds.empty()) return "no document at all";
  std::string words;
  for (const std::string& kind : kinds) {
    if (!words.empty()) words += ", ";
    if (words.size() > 200) return words + "…";
    words += kind;
  }
  return words;
}

void expect_something(const std::vector<std::pair<std::string, std::string>>& files,
                      const std::deque<Manifest>& input) {
  const auto known = [](const Manifest& manifest) { return manifest.kind != Kind::other; };
  if (std::ranges::any_of(input, known)) return;
  std::string message = fmt::format(
      "{}: holds {}; give a manifest that makes pods: TrainJob, a training runtime, "
      "Job, PyTorchJob, …",
      files.size() == 1 ? files.front().first : fmt::format("{} files", files.size()),
      kinds_in(input));
  std::ranges::replace_if(
      message, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  throw UserError(ExitCode::data, message);
}

}  // namespace

std::vector<Finding> lint(const std::vector<std::pair<std::string, std::string>>& files,
                          const LintOptions& options) {
  std::ranges::for_each(options.ignored, expect_rule);
  std::deque<Manifest> input;
  for (const auto& [name, text] : files)
    for (Value& document : read_documents(name, text))
      append_manifests(name, std::move(document), input);
  expect_something(files, input);

  Findings findings(options.releases.empty() ? kUpTo23 : Releases::of(options.releases));
  for (const Manifest& manifest : input) {
    findings.look_at(manifest.file, manifest.object());
    for (const Rule& rule : rules()) {
      if (std::ranges::find(options.ignored, rule.name) != options.ignored.end()) continue;
      findings.by(rule.name);
      rule.check({manifest, input}, findings);
    }
  }
  std::vector<Finding> all = findings.take();
  // Files stay in the order in which they were given.
  const auto place = [&](const Finding& finding) {
    return std::ranges::find(files, finding.file, &std::pair<std::string, std::string>::first);
  };
  std::ranges::stable_sort(all, [&](const Finding& a, const Finding& b) {
    return std::pair(place(a), a.line) < std::pair(place(b), b.line);
  });
  return all;
}

}  // namespace annulus::k8s
