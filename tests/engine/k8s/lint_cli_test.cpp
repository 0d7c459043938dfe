// `annulus k8s lint` as a user runs it: what is printed, and the exit codes of docs/exit-codes.md.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/engine/files.h"
#include "tests/engine/program.h"

namespace {

using annulus::test::Outcome;

const std::string kManifests = ANNULUS_LINT_MANIFESTS;

class LintCli : public annulus::test::Program {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  // One line on stderr, nothing on stdout.
  static void expect_refusal(const Outcome& outcome, int code, const std::string& says) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find("annulus: " + says), 0u) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
};

TEST_F(LintCli, AFindingIsOneLineAsCompilersWriteIt) {
  const std::string path = kManifests + "/topology-tier.bad.yaml";
  const Outcome outcome = run("k8s lint " + path);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.find(path + ":11: topology-tier: ClusterTrainingRuntime small: "), 0u)
      << outcome.out;
  EXPECT_NE(outcome.out.find(" (Trainer 2.1 to 2.3)\n1 finding\n"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(run("k8s lint --trainer-version 2.0 " + path).code, 0);
  EXPECT_NE(run("k8s lint --trainer-version 2.1,2.3 " + path).out.find("(Trainer 2.1, 2.3)"),
            std::string::npos);
}

TEST_F(LintCli, CleanIsCodeZero) {
  const Outcome outcome = run("k8s lint " + kManifests + "/*.good.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_EQ(outcome.out, "nothing to mend\n");
}

TEST_F(LintCli, ReadsStandardInputAndPipes) {
  const std::string path = kManifests + "/shm-missing.bad.yaml";
  const Outcome outcome = run("k8s lint - < " + path);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out.find("-:7: shm-missing: "), 0u) << outcome.out;
  // A pipe by its path, as <(kubectl kustomize …) is.
  const std::string program = ANNULUS_PROGRAM;
  const std::string by_path = "cat " + path + " | " + program + " k8s lint /dev/stdin";
  EXPECT_EQ(run("--version >/dev/null; " + by_path).code, 2);
}

TEST_F(LintCli, JsonSaysTheSame) {
  const Outcome outcome = run("k8s lint --json " + kManifests + "/rdma-dropped.bad.yaml");
  EXPECT_EQ(outcome.code, 2);
  const auto findings = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0]["rule"], "rdma-dropped");
  EXPECT_EQ(findings[0]["line"], 10);
  EXPECT_EQ(findings[0]["object"], "TrainJob small");
  EXPECT_EQ(findings[0]["releases"], (nlohmann::json{"2.0", "2.1", "2.2"}));
  EXPECT_EQ(run("k8s lint --json " + kManifests + "/rdma-dropped.good.yaml").out, "[]\n");
  const auto rules = nlohmann::json::parse(run("k8s lint --rules --json").out);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(run("k8s lint --rules").out, '\n')),
            rules.size());
}

TEST_F(LintCli, RulesMayBeIgnored) {
  const std::string path = kManifests + "/shm-missing.bad.yaml";
  EXPECT_EQ(run("k8s lint --ignore shm-missing,replicas " + path).code, 0);
  EXPECT_EQ(run("k8s lint " + path, "ANNULUS_IGNORE=shm-missing").code, 0);
  expect_refusal(run("k8s lint --ignore shm " + path), 2, "--ignore shm: there is no such rule");
}

TEST_F(LintCli, WhatCannotBeReadIsOneLineAndCode3) {
  write("broken.yaml", "kind: Pod\nspec: [\n");
  write("empty.yaml", "");
  write("binary.yaml", std::string("\x7f"
                                   "ELF\0\1\2",
                                   7));
  write("claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\n");
  write("odd.yaml", "- 1\n- {kind: [Pod]}\n--- text\n");
  write("escape.yaml", "kind: \"\\e[31m\\n\"\n");
  expect_refusal(run("k8s lint broken.yaml"), 3, "broken.yaml: line 3: ");
  expect_refusal(run("k8s lint empty.yaml"), 3, "empty.yaml: holds no document at all; ");
  expect_refusal(run("k8s lint binary.yaml"), 3, "binary.yaml: is not text; ");
  expect_refusal(run("k8s lint claim.yaml"), 3, "claim.yaml: holds PersistentVolumeClaim of v1; ");
  write("group.yaml", "apiVersion: kubeflow.org/v1\nkind: TrainJob\n");
  expect_refusal(run("k8s lint group.yaml"), 3, "group.yaml: holds TrainJob of kubeflow.org/v1; ");
  expect_refusal(run("k8s lint odd.yaml"), 3, "odd.yaml: holds something without kind; ");
  expect_refusal(run("k8s lint escape.yaml"), 3,
                 "escape.yaml: holds \uFFFD[31m\uFFFD without apiVersion; ");
  expect_refusal(run("k8s lint ."), 3, ".: cannot be read: Is a directory");
  expect_refusal(run("k8s lint nowhere.yaml"), 3, "nowhere.yaml: cannot be opened: No such file");
  expect_refusal(run("k8s lint /dev/zero"), 3, "/dev/zero: is longer than 8 MiB");
  expect_refusal(run("k8s lint - </dev/null"), 3, "-: holds no document at all; ");
  expect_refusal(run("k8s lint"), 2, "k8s lint: no file is given; ");
}

// What can be judged is, whatever stands beside it.
TEST_F(LintCli, OneFileThatCannotBeReadKeepsNoFindingBack) {
  write("broken.yaml", "kind: Pod\nspec: [\n");
  const std::string bad = kManifests + "/shm-missing.bad.yaml";
  const Outcome outcome = run("k8s lint broken.yaml nowhere.yaml " + bad);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.out.find(": shm-missing: "), std::string::npos) << outcome.out;
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 2) << outcome.err;
  const Outcome json = run("k8s lint --json broken.yaml " + bad);
  EXPECT_EQ(json.code, 3);
  EXPECT_EQ(nlohmann::json::parse(json.out).size(), 1u);
  EXPECT_EQ(run("k8s lint --json broken.yaml").out, "[]\n");
  EXPECT_EQ(run("k8s lint broken.yaml " + kManifests + "/shm-missing.good.yaml").out, "");
}

// A pipe with a name: its writer may come later.
TEST_F(LintCli, AWriterThatComesLaterIsWaitedFor) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::jthread writer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    write("pipe", annulus::test::slurp(kManifests + "/shm-missing.bad.yaml"));
  });
  EXPECT_EQ(run("k8s lint pipe").code, 2);
}

// Of another file's bytes, and of a terminal's commands, nothing reaches the terminal.
TEST_F(LintCli, WhatATerminalWouldActOnIsReplaced) {
  write("odd.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: \"a\xc2\x9b\"}\n"
        "spec: {hostNetwork: true, dnsPolicy: \"\\e[31m\"}\n");
  const Outcome outcome = run("k8s lint odd.yaml");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.out.find("Pod a\uFFFD\uFFFD: hostNetwork with dnsPolicy \uFFFD[31m"),
            std::string::npos)
      << outcome.out;
}

// Whatever types stand where others are meant, rules find nothing there and nothing ends.
TEST_F(LintCli, OddTypesAreNoCrash) {
  const char* kinds[] = {"trainer.kubeflow.org/v1alpha1 TrainJob",
                         "trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime",
                         "jobset.x-k8s.io/v1alpha2 JobSet",
                         "kubeflow.org/v1 PyTorchJob",
                         "batch.volcano.sh/v1alpha1 Job",
                         "batch/v1 Job",
                         "v1 Pod"};
  const char* specs[] = {"",
                         "[]",
                         "text",
                         "{template: [], tasks: {a: b}, trainer: x}",
                         "{podGroupPolicy: {volcano: {networkTopology: {}}}, mlPolicy: {torch: 1}}",
                         "{pytorchReplicaSpecs: [1], replicatedJobs: {name: 1}, runtimeRef: 7}",
                         "{trainer: {numNodes: 99999999999999999, env: {a: b}}}",
                         "{trainer: {numNodes: -9223372036854775808}}"};
  for (const std::string kind : kinds)
    for (const std::string spec : specs) {
      const auto blank = kind.find(' ');
      write("odd.yaml", "apiVersion: " + kind.substr(0, blank) + "\nkind: " +
                            kind.substr(blank + 1) + "\nmetadata: {name: a}\nspec: " + spec + "\n");
      const Outcome outcome = run("k8s lint odd.yaml");
      EXPECT_TRUE(outcome.code == 0 || outcome.code == 2) << kind << spec << outcome.err;
    }
}

}  // namespace
