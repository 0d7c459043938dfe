// Names: those that JobSet makes of a job's, and those of containers that controllers look for.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/k8s/rules.h"
#include "engine/k8s/trainer.h"

namespace annulus::k8s {
namespace {

constexpr std::int64_t kLongestLabel = 63;  // of DNS, RFC 1035

std::int64_t digits(std::int64_t number) {
  return static_cast<std::int64_t>(fmt::format_int(number).size());
}

// JobSet's webhook looks at {name}-{job}-{replica}-{index}-abcde, the longest pod name.
std::int64_t longest_name(std::int64_t job_name, std::int64_t replicas, std::int64_t pods) {
  return kLongestLabel - 1 - job_name - 1 - digits(std::max<std::int64_t>(replicas, 1) - 1) - 1 -
         digits(std::max<std::int64_t>(pods, 1) - 1) - 6;
}

// Of the jobs that a TrainJob becomes, the one that leaves the fewest letters for its name.
struct Tightest {
  std::string job = "node";
  std::int64_t pods = 1, letters = 0;
};

// Under MPI the pods `node` are those that the TrainJob counts, less the launcher if it is one.
std::int64_t pods_of_job(const TrainJob& job, const Value& replicated) {
  if (job.policy != "mpi") return &replicated == job.runtime.job ? job.nodes() : 1;
  if (!replicated["name"].is("node")) return 1;
  const bool launcher_too = job.runtime.source()["runLauncherAsNode"].is("true");
  return launcher_too ? std::max<std::int64_t>(job.nodes() - 1, 1) : job.nodes();
}

Tightest tightest(const TrainJob& job) {
  const std::int64_t nodes = job.nodes();
  Tightest least{.pods = nodes, .letters = longest_name(4, 1, nodes)};
  if (!job.runtime_manifest) return least;
  least.letters = kLongestLabel;
  for (const Value& replicated : replicated_jobs(*job.runtime_manifest).items) {
    const std::int64_t pods = pods_of_job(job, replicated);
    const std::string& name = replicated["name"].text;
    const std::int64_t letters = longest_name(static_cast<std::int64_t>(name.size()), 1, pods);
    if (letters < least.letters) least = {name, pods, letters};
  }
  return least;
}

void add_name_length(const Value& at, const std::string& name, const Tightest& least,
                     Findings& findings) {
  findings.add(
      at,
      {fmt::format("the name has {} characters, {} are the most for {} pod{} of the job {}",
                   name.size(), least.letters, least.pods, least.pods == 1 ? "" : "s", least.job),
       fmt::format("a pod's name, {}…-{}-0-{}-abcde, may have 63 and JobSet refuses longer ones",
                   name.substr(0, 8), least.job, least.pods - 1),
       fmt::format("shorten it by {}", static_cast<std::int64_t>(name.size()) - least.letters)});
}

const Value& name_of(const Manifest& manifest) {
  const Value& metadata = manifest.root["metadata"];
  for (const char* key : {"name", "generateName"})
    if (metadata[key].there()) return metadata[key];
  return manifest.root;
}

}  // namespace

void check_name_length(const Subject& subject, Findings& findings) {
  const Manifest& manifest = subject.manifest;
  const auto size = static_cast<std::int64_t>(manifest.name.size());
  const Value& at = name_of(manifest);
  if (manifest.kind == Kind::train_job) {
    const Tightest least = tightest(train_job_of(manifest, subject.input));
    if (size > least.letters) add_name_length(at, manifest.name, least, findings);
  }
  if (manifest.kind != Kind::job_set) return;
  for (const Value& job : replicated_jobs(manifest).items) {
    const std::int64_t replicas = job["replicas"].whole().value_or(1);
    const std::int64_t pods = job["template"]["spec"]["completions"].whole().value_or(1);
    const std::string& name = job["name"].text;
    const Tightest least{name, pods,
                         longest_name(static_cast<std::int64_t>(name.size()), replicas, pods)};
    if (size > least.letters) return add_name_length(at, manifest.name, least, findings);
  }
}

namespace {

void expect_container(const Value& job, const Value& pod_spec, const char* name, const char* reason,
                      bool of_trainer, Findings& findings) {
  const Value& containers = pod_spec["containers"];
  if (named(containers, name)) return;
  const Value& at = containers.there() ? containers : job;
  Words words{fmt::format("no container is called {}", name), reason,
              fmt::format("call the container that trains {}", name)};
  if (of_trainer)
    findings.add(at, kFrom20, std::move(words));
  else
    findings.add(at, std::move(words));
}

struct OperatorContainer {
  const char* kind;
  const char* container;
};
constexpr std::array kOperatorContainers = {
    OperatorContainer{"TFJob", "tensorflow"}, OperatorContainer{"PyTorchJob", "pytorch"},
    OperatorContainer{"JAXJob", "jax"}, OperatorContainer{"XGBoostJob", "xgboost"},
    OperatorContainer{"PaddleJob", "paddle"}};

}  // namespace

void check_container_name(const Subject& subject, Findings& findings) {
  const Manifest& manifest = subject.manifest;
  if (manifest.kind == Kind::runtime) {
    for (const Value& job : replicated_jobs(manifest).items) {
      const Value& step = ancestor_of(job);
      const Value& pod = job["template"]["spec"]["template"]["spec"];
      if (step.is("trainer"))
        expect_container(job, pod, "node",
                         "Trainer changes that one alone, and its webhook refuses the runtime",
                         true, findings);
      for (const char* initializer : {"dataset-initializer", "model-initializer"})
        if (step.is(initializer))
          expect_container(job, pod, initializer,
                           "Trainer changes that one alone, and its webhook refuses the runtime",
                           true, findings);
    }
  }
  if (manifest.kind != Kind::replicas_job) return;
  for (const OperatorContainer& known : kOperatorContainers)
    if (manifest.word == known.kind)
      for (const Pod& pod : pods_of(manifest))
        expect_container(*pod.owner, pod.spec(), known.container,
                         "the operator tells that one about its peers and reads its exit code",
                         false, findings);
}

}  // namespace annulus::k8s
