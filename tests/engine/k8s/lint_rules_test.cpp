// Each rule has a manifest that breaks it, RULE[.VARIANT].bad.yaml, and one that keeps it,
// RULE[.VARIANT].good.yaml. In a bad one, the lines that a finding must name, and no others, end in
// "# here", or "# here: 2.1 2.2" where the finding is about these releases of Trainer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "engine/k8s/lint.h"
#include "engine/k8s/rules.h"
#include "tests/engine/files.h"

namespace {

using annulus::k8s::Finding;
using annulus::k8s::LintOptions;
using annulus::k8s::Source;

namespace fs = std::filesystem;

std::vector<fs::path> manifests(const std::string& ending) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(ANNULUS_LINT_MANIFESTS))
    if (entry.path().string().ends_with(ending)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

std::string rule_of(const fs::path& path) {
  const std::string name = path.filename();
  return name.substr(0, name.find('.'));
}

// Of sources that can all be judged.
std::vector<Finding> judged(const std::vector<Source>& sources, const LintOptions& options) {
  annulus::k8s::Verdict verdict = annulus::k8s::lint(sources, options);
  EXPECT_EQ(verdict.faults, std::vector<std::string>{});
  return std::move(verdict.findings);
}

std::vector<Finding> findings_in(const fs::path& path, const LintOptions& options = {}) {
  return judged({{path.filename(), annulus::test::slurp(path)}}, options);
}

std::string in_words(const std::vector<Finding>& findings) {
  std::string words;
  for (const Finding& f : findings) words += fmt::format("{}:{} {}\n", f.line, f.rule, f.fact);
  return words;
}

// Line to the releases that it names, empty where it names none.
std::map<int, std::string> marked_lines(const fs::path& path) {
  std::map<int, std::string> marked;
  std::istringstream text(annulus::test::slurp(path));
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (const auto at = line.find("# here"); at != std::string::npos)
      marked[number] = line.substr(std::min(line.size(), at + 8));
  }
  return marked;
}

std::string releases_of(const Finding& finding) {
  std::string words;
  for (const std::string& release : finding.releases) words += (words.empty() ? "" : " ") + release;
  return words;
}

TEST(LintRules, ABadManifestBreaksItsRuleAloneWhereItIsMarked) {
  for (const fs::path& path : manifests(".bad.yaml")) {
    SCOPED_TRACE(path.filename());
    const std::vector<Finding> findings = findings_in(path);
    const std::map<int, std::string> marked = marked_lines(path);
    EXPECT_FALSE(marked.empty()) << "no line is marked";
    std::set<int> found;
    for (const Finding& finding : findings) {
      EXPECT_EQ(finding.rule, rule_of(path)) << finding.fact;
      found.insert(finding.line);
      const auto mark = marked.find(finding.line);
      ASSERT_NE(mark, marked.end()) << in_words(findings);
      if (!mark->second.empty()) {
        EXPECT_EQ(releases_of(finding), mark->second);
      }
      for (const std::string* part :
           {&finding.object, &finding.fact, &finding.reason, &finding.fix})
        EXPECT_GE(part->size(), 5u) << in_words(findings);
    }
    EXPECT_EQ(found.size(), marked.size()) << in_words(findings);
  }
}

TEST(LintRules, AGoodManifestBreaksNone) {
  for (const fs::path& path : manifests(".good.yaml")) {
    SCOPED_TRACE(path.filename());
    EXPECT_EQ(in_words(findings_in(path)), "");
  }
}

TEST(LintRules, EachHasBothKindsAndEachManifestARule) {
  std::set<std::string> names, bad, good;
  for (const auto& rule : annulus::k8s::rules()) names.insert(rule.name);
  for (const fs::path& path : manifests(".bad.yaml")) bad.insert(rule_of(path));
  for (const fs::path& path : manifests(".good.yaml")) good.insert(rule_of(path));
  EXPECT_EQ(bad, names);
  EXPECT_EQ(good, names);
}

TEST(LintRules, OneThatIsIgnoredFindsNothing) {
  for (const fs::path& path : manifests(".bad.yaml"))
    EXPECT_EQ(in_words(findings_in(path, {.releases = {}, .ignored = {rule_of(path)}})), "")
        << path;
}

// --- what a file for each would only repeat ---

std::string train_job(const std::string& name, int nodes) {
  return fmt::format(
      "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: {}}}\n"
      "spec:\n  runtimeRef: {{name: any}}\n  trainer: {{numNodes: {}}}\n",
      name, nodes);
}

TEST(LintRules, TheLongestNameFollowsFromTheNumberOfNodes) {
  struct Case {
    int nodes;
    std::size_t longest;
  };
  for (const auto& [nodes, longest] :
       {Case{1, 48}, Case{10, 48}, Case{11, 47}, Case{100, 47}, Case{101, 46}, Case{1000, 46}}) {
    // JobSet's own arithmetic: {name}-node-0-{index}-abcde, at most 63.
    const std::string pod = fmt::format("-node-0-{}-abcde", nodes - 1);
    EXPECT_EQ(longest + pod.size(), 63u) << nodes;
    EXPECT_TRUE(judged({{"f", train_job(std::string(longest, 'a'), nodes)}}, {}).empty()) << nodes;
    const auto findings = judged({{"f", train_job(std::string(longest + 1, 'a'), nodes)}}, {});
    ASSERT_EQ(findings.size(), 1u) << nodes;
    EXPECT_EQ(findings.front().rule, "name-length");
  }
}

std::vector<std::size_t> found_by_release(const std::string& file) {
  std::vector<std::size_t> counts;
  for (const char* release : annulus::k8s::kReleases)
    counts.push_back(
        findings_in(fs::path(ANNULUS_LINT_MANIFESTS) / file, {.releases = {release}, .ignored = {}})
            .size());
  return counts;
}

TEST(LintRules, DependOnTheReleaseThatIsAskedFor) {
  using Counts = std::vector<std::size_t>;  // 2.0, 2.1, 2.2, 2.3, later
  EXPECT_EQ(found_by_release("rdma-dropped.bad.yaml"), (Counts{1, 1, 1, 0, 0}));
  EXPECT_EQ(found_by_release("ttl-restarts.bad.yaml"), (Counts{1, 1, 1, 1, 0}));
  EXPECT_EQ(found_by_release("topology-tier.bad.yaml"), (Counts{0, 1, 1, 1, 1}));
  EXPECT_EQ(found_by_release("trainer-missing.jax.bad.yaml"), (Counts{0, 0, 1, 1, 1}));
  EXPECT_EQ(found_by_release("shm-missing.bad.yaml"), (Counts{1, 1, 1, 1, 1}));
}

TEST(LintRules, ATrainJobFindsItsRuntimeInAnotherFileOfTheRightKind) {
  const std::string job =
      "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\n"
      "spec: {runtimeRef: {name: r}}\n";
  const auto runtime = [](const char* kind) {
    return fmt::format(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: {}\nmetadata: {{name: r}}\n"
        "spec:\n  mlPolicy: {{torch: {{}}}}\n  template: {{spec: {{replicatedJobs: []}}}}\n",
        kind);
  };
  const LintOptions options{.releases = {}, .ignored = {"ancestor-label"}};
  EXPECT_EQ(judged({{"job", job}}, options).size(), 0u);
  EXPECT_EQ(judged({{"job", job}, {"runtime", runtime("ClusterTrainingRuntime")}}, options).size(),
            1u);
  EXPECT_EQ(judged({{"job", job}, {"runtime", runtime("TrainingRuntime")}}, options).size(), 0u);
}

TEST(LintRules, TheRuntimeInTheSameFileComesFirst) {
  const std::string job =
      annulus::test::slurp(fs::path(ANNULUS_LINT_MANIFESTS) / "trainer-missing.bad.yaml");
  const std::string plain =
      annulus::test::slurp(fs::path(ANNULUS_LINT_MANIFESTS) / "trainer-missing.plain.good.yaml");
  EXPECT_EQ(judged({{"plain", plain}, {"torch", job}}, {}).size(), 1u);
}

// A look-up each, not a search: twenty times as many take a good second.
TEST(LintRules, ManyTrainJobsAndRuntimesAreNoMatter) {
  std::string text;
  for (int i = 0; i < 10000; ++i)
    text += fmt::format(
        "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: j{}}}\n"
        "spec: {{runtimeRef: {{name: r{}}}, trainer: {{}}}}\n---\n"
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n"
        "metadata: {{name: r{}}}\nspec: {{mlPolicy: {{torch: {{}}}}}}\n",
        i, i, i);
  EXPECT_EQ(judged({{"f", text}}, {.releases = {}, .ignored = {"ancestor-label"}}).size(), 0u);
}

TEST(LintRules, LookIntoLists) {
  const auto findings =
      judged({{"f",
               "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
               "  metadata: {name: a}\n  spec: {hostNetwork: true, containers: []}\n"}},
             {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().line, 7);
  EXPECT_EQ(findings.front().object, "Pod a");
}

}  // namespace
