// Variables that are a controller's to set: by the policy of a runtime, or by the kind of a job.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "engine/k8s/rules.h"
#include "engine/k8s/trainer.h"

namespace annulus::k8s {
namespace {

// What a controller sets, by the policy or the kind.
struct Reserved {
  std::string_view setter;
  std::vector<std::string_view> names;
};

const std::array<Reserved, 4>& of_policies() {
  static const std::array<Reserved, 4> table = {
      Reserved{"torch",
               {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR",
                "PET_MASTER_PORT"}},
      Reserved{"mpi",
               {"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args",
                "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots"}},
      Reserved{"xgboost",
               {"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"}},
      Reserved{"jax", {"JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"}}};
  return table;
}

const std::array<Reserved, 4>& of_kinds() {
  static const std::array<Reserved, 4> table = {
      Reserved{"TFJob", {"TF_CONFIG"}},
      Reserved{"PyTorchJob",
               {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR",
                "PET_MASTER_PORT", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"}},
      Reserved{"MPIJob",
               {"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_agent",
                "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots",
                "K_MPI_JOB_ROLE"}},
      Reserved{"JAXJob",
               {"COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID"}}};
  return table;
}

bool holds(const Reserved& reserved, std::string_view name) {
  return std::ranges::find(reserved.names, name) != reserved.names.end();
}

// Torch's are refused by every webhook, MPI's from 2.3 on, XGBoost's since there is such a policy.
const char* answer_of(std::string_view policy) {
  if (policy == "mpi")
    return "the webhook of 2.3 refuses the TrainJob, and before the value is replaced";
  if (policy == "jax") return "its value is replaced";
  return "the webhook refuses the TrainJob";
}

constexpr const char* kDropIt = "take it out; a run is described by numNodes and numProcPerNode";

void check_train_job_env(const TrainJob& job, Findings& findings) {
  for (const Value& entry : job.trainer()["env"].items)
    for (const Reserved& reserved : of_policies())
      if (holds(reserved, entry["name"].text) &&
          (job.policy.empty() || job.policy == reserved.setter))
        findings.add(
            entry, reserved.setter == "torch" || reserved.setter == "mpi" ? kFrom20 : kFrom22,
            {fmt::format("{} is the {} policy's to set", entry["name"].text, reserved.setter),
             answer_of(reserved.setter), kDropIt});
}

void check_runtime_env(const Runtime& runtime, Findings& findings) {
  if (!runtime.container) return;
  for (const Value& entry : (*runtime.container)["env"].items)
    for (const Reserved& reserved : of_policies())
      if (holds(reserved, entry["name"].text) && runtime.policy == reserved.setter)
        findings.add(
            entry, kFrom20,
            {fmt::format("{} is the {} policy's to set", entry["name"].text, reserved.setter),
             "its value is replaced", kDropIt});
}

std::string setter_of(const Manifest& manifest, std::string_view name) {
  if (manifest.kind == Kind::volcano_job)
    return name.starts_with("VC_") || name.starts_with("VK_") ? "Volcano's plugins" : "";
  for (const Reserved& reserved : of_kinds())
    if (manifest.word == reserved.setter && holds(reserved, name))
      return fmt::format("the operator of {}s", manifest.word);
  return "";
}

void check_container_env(const Manifest& manifest, const Value& container, Findings& findings) {
  const bool indexed = manifest.kind == Kind::job_set || manifest.kind == Kind::runtime ||
                       manifest.spec()["completionMode"].is("Indexed");
  for (const Value& entry : container["env"].items) {
    const std::string& name = entry["name"].text;
    if (indexed && name == "JOB_COMPLETION_INDEX")
      findings.add(entry, {"JOB_COMPLETION_INDEX is the Job controller's to set",
                           "it keeps a value that is there, so all pods have the same index",
                           "take it out"});
    if (const std::string setter = setter_of(manifest, name); !setter.empty())
      findings.add(entry, {fmt::format("{} is set by {}", name, setter),
                           "two values meet, and pods disagree about their ranks", "take it out"});
  }
}

}  // namespace

void check_reserved_env(const Subject& subject, Findings& findings) {
  const Manifest& manifest = subject.manifest;
  if (manifest.kind == Kind::train_job)
    return check_train_job_env(train_job_of(manifest, subject.input), findings);
  if (manifest.kind == Kind::runtime) check_runtime_env(runtime_of(manifest), findings);
  for (const Pod& pod : pods_of(manifest))
    for (const Value& container : pod.spec()["containers"].items)
      check_container_env(manifest, container, findings);
}

}  // namespace annulus::k8s
