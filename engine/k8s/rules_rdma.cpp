// Network adapters of pods: asked for, and kept from doing their work.
#include <fmt/format.h>

#include <algorithm>

#include "engine/k8s/resources.h"
#include "engine/k8s/rules.h"
#include "engine/k8s/trainer.h"

namespace annulus::k8s {
namespace {

std::string adapters(const Asked& rdma) {
  return fmt::format("{}: {}", rdma.name, rdma.value->text);
}

}  // namespace

void check_rdma_dropped(const Subject& subject, Findings& findings) {
  if (subject.manifest.kind != Kind::train_job) return;
  const TrainJob job = train_job_of(subject.manifest, subject.input);
  if (!job.runtime_manifest) return;
  const Asked rdma = asked_rdma(job.runtime.resources());
  if (!rdma || !sets_any(job.resources()) || asked_rdma(job.resources())) return;
  findings.add(job.resources(), kUpTo22,
               {fmt::format("resourcesPerNode leaves out {} of the runtime {}", adapters(rdma),
                            job.runtime_manifest->name),
                "up to 2.2 it replaces the runtime's resources, and NCCL then takes TCP",
                fmt::format("repeat {} in requests and limits", adapters(rdma))});
}

namespace {

bool may_lock_memory(const Value& container) {
  const Value& security = container["securityContext"];
  if (security["privileged"].is("true")) return true;
  return std::ranges::any_of(security["capabilities"]["add"].items, [](const Value& capability) {
    return capability.is("IPC_LOCK") || capability.is("ALL") || capability.is("CAP_IPC_LOCK");
  });
}

bool patched_to_lock_memory(const TrainJob& job) {
  return std::ranges::any_of(pod_patches(job), [](const Value* patch) {
    const Value* container = named((*patch)["containers"], "node");
    return container && may_lock_memory(*container);
  });
}

Words no_ipc_lock(const std::string& container, const Asked& rdma) {
  return {fmt::format("the container {} has {} but not the capability IPC_LOCK", container,
                      adapters(rdma)),
          "memory cannot be pinned for the adapter, so NCCL fails or takes TCP",
          "add securityContext: {capabilities: {add: [IPC_LOCK]}}, which works for root"};
}

}  // namespace

void check_rdma_ipc_lock(const Subject& subject, Findings& findings) {
  if (subject.manifest.kind == Kind::train_job) {
    const TrainJob job = train_job_of(subject.manifest, subject.input);
    const Asked rdma = asked_rdma(job.resources());
    // Where the runtime asks for adapters too, it is the one to mend.
    if (rdma && job.runtime.container && !asked_rdma(job.runtime.resources()) &&
        !may_lock_memory(*job.runtime.container) && !patched_to_lock_memory(job))
      findings.add(job.resources(), no_ipc_lock("node of its runtime", rdma));
    return;
  }
  for (const Pod& pod : pods_of(subject.manifest))
    for (const Value& container : pod.spec()["containers"].items)
      if (const Asked rdma = asked_rdma(container["resources"]);
          rdma && !may_lock_memory(container))
        findings.add(container, no_ipc_lock(container["name"].text, rdma));
}

}  // namespace annulus::k8s
