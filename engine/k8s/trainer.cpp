// See trainer.h.
#include "engine/k8s/trainer.h"

#include <algorithm>
#include <limits>

namespace annulus::k8s {
namespace {

const Value& nothing() {
  static const Value missing;
  return missing;
}

std::string policy_of(const Value& ml_policy) {
  if (ml_policy.kind != Value::Kind::map) return "";
  for (const char* policy : {"torch", "mpi", "jax", "xgboost", "flux"})
    if (ml_policy[policy].there()) return policy;
  return "plain";
}

// ClusterTrainingRuntimes of the release itself, manifests/base/runtimes; the others have names of
// their own making.
std::string shipped_policy(const std::string& runtime) {
  if (runtime == "torch-distributed" || runtime.starts_with("torchtune-")) return "torch";
  if (runtime == "jax-distributed") return "jax";
  if (runtime == "xgboost-distributed") return "xgboost";
  if (runtime == "deepspeed-distributed" || runtime == "mlx-distributed") return "mpi";
  return "";
}

}  // namespace

const Value& ancestor_of(const Value& replicated_job) {
  return replicated_job["template"]["metadata"]["labels"][kAncestorLabel];
}

const Value& Runtime::resources() const {
  return container ? (*container)["resources"] : nothing();
}

bool Runtime::gives_way(const Value& replicated_job) const {
  return &replicated_job == job || (policy == "mpi" && source()["runLauncherAsNode"].is("true") &&
                                    replicated_job["name"].is("node"));
}

Runtime runtime_of(const Manifest& manifest) {
  Runtime runtime{.manifest = &manifest, .policy = policy_of(manifest.spec()["mlPolicy"])};
  for (const Value& job : replicated_jobs(manifest).items)
    if (ancestor_of(job).is("trainer") && runtime.job == nullptr) runtime.job = &job;
  if (runtime.job)
    runtime.container =
        named((*runtime.job)["template"]["spec"]["template"]["spec"]["containers"], "node");
  return runtime;
}

std::int64_t TrainJob::nodes() const {
  const Value& own = trainer()["numNodes"];
  const Value& said = own.there() || !runtime_manifest ? own : runtime.ml_policy()["numNodes"];
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // as the API has it
  return std::clamp<std::int64_t>(said.whole().value_or(1), 1, kMost);
}

std::vector<const Value*> pod_patches(const TrainJob& job) {
  const Value& spec = job.manifest->spec();
  const std::string name = job.runtime.job ? (*job.runtime.job)["name"].text : "node";
  std::vector<const Value*> patches;
  for (const Value& patch : spec["podSpecOverrides"].items)
    if (named(patch["targetJobs"], name)) patches.push_back(&patch);
  for (const Value& patch : spec["podTemplateOverrides"].items)
    if (named(patch["targetJobs"], name)) patches.push_back(&patch["spec"]);
  for (const Value& patch : spec["runtimePatches"].items)
    if (const Value* job_patch =
            named(patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"], name))
      patches.push_back(&(*job_patch)["template"]["spec"]["template"]["spec"]);
  return patches;
}

TrainJob train_job_of(const Manifest& manifest, const Input& input) {
  TrainJob job{.manifest = &manifest, .runtime_manifest = input.runtime_of(manifest)};
  if (job.runtime_manifest) {
    job.runtime = runtime_of(*job.runtime_manifest);
    job.policy = job.runtime.policy;
  } else {
    job.policy = shipped_policy(manifest.spec()["runtimeRef"]["name"].text);
  }
  return job;
}

}  // namespace annulus::k8s
