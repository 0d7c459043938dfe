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

TrainJob train_job_of(const Manifest& manifest, const std::deque<Manifest>& input) {
  const Value& reference = manifest.spec()["runtimeRef"];
  const std::string kind =
      reference["kind"].there() ? reference["kind"].text : "ClusterTrainingRuntime";
  TrainJob job{.manifest = &manifest};
  const auto is_it = [&](const Manifest& other) {
    return other.kind == Kind::runtime && other.word == kind && reference["name"].is(other.name);
  };
  // The one in the same file first: files that are alike may be given together.
  auto found = std::ranges::find_if(
      input, [&](const Manifest& other) { return other.file == manifest.file && is_it(other); });
  if (found == input.end()) found = std::ranges::find_if(input, is_it);
  if (found == input.end()) {
    job.policy = shipped_policy(reference["name"].text);
  } else {
    job.runtime_manifest = &*found;
    job.runtime = runtime_of(*found);
    job.policy = job.runtime.policy;
  }
  return job;
}

}  // namespace annulus::k8s
