// What a pod of ranks needs, whatever starts it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/k8s/resources.h"
#include "engine/k8s/rules.h"
#include "engine/k8s/trainer.h"

namespace annulus::k8s {
namespace {

constexpr const char* kInject = "sidecar.istio.io/inject";
constexpr const char* kInjectFix =
    "say sidecar.istio.io/inject: \"false\" in the annotations of the pod's template";

// Above the pods: what stands here does not reach them.
std::vector<const Value*> metadata_above(const Manifest& manifest) {
  std::vector<const Value*> above;
  if (manifest.kind == Kind::job || manifest.kind == Kind::job_set ||
      manifest.kind == Kind::runtime || (manifest.kind == Kind::pods && manifest.word != "Pod"))
    above.push_back(&manifest.root["metadata"]);
  if (manifest.kind == Kind::runtime) above.push_back(&manifest.spec()["template"]["metadata"]);
  for (const Value& job : replicated_jobs(manifest).items)
    above.push_back(&job["template"]["metadata"]);
  return above;
}

}  // namespace

void check_istio_label(const Subject& subject, Findings& findings) {
  bool annotated = false;
  for (const Pod& pod : pods_of(subject.manifest)) {
    const Value& label = pod.metadata()["labels"][kInject];
    const bool annotation = pod.metadata()["annotations"][kInject].there();
    annotated = annotated || annotation || label.there();
    if (label.is("false") && !annotation)
      findings.add(label, {"sidecar.istio.io/inject is a label of the pod, not an annotation",
                           "Istio before 1.10 does not look at labels: its proxy resets the "
                           "connections between ranks, and never ends",
                           kInjectFix});
  }
  if (annotated) return;
  for (const Value* metadata : metadata_above(subject.manifest))
    for (const char* part : {"annotations", "labels"})
      if (const Value& at = (*metadata)[part][kInject]; at.there())
        findings.add(at, {"sidecar.istio.io/inject does not stand in the pod's template",
                          "no controller hands it on: the proxy resets the connections between "
                          "ranks, and never ends",
                          kInjectFix});
}

namespace {

constexpr double kDefaultShm = 64.0 * 1024 * 1024;  // bytes, of a container without a volume there

const Value* volume_at_shm(const Value& pod_spec, const Value& container) {
  for (const Value& mount : container["volumeMounts"].items)
    if (mount["mountPath"].is("/dev/shm") || mount["mountPath"].is("/dev/shm/"))
      return named(pod_spec["volumes"], mount["name"].text);
  return nullptr;
}

constexpr const char* kShmFix =
    "mount emptyDir: {medium: Memory} there; it counts as the container's memory";
constexpr const char* kShmTooSmall = "NCCL dies with Bus error or slows down";

void check_shm_volume(const Value& volume, const std::string& container, Findings& findings) {
  const Value& directory = volume["emptyDir"];
  if (!directory.there()) return;
  if (!directory["medium"].is("Memory"))
    return findings.add(
        volume, {fmt::format("/dev/shm of the container {} is on the node's disk", container),
                 "NCCL's buffers between GPUs become file writes", kShmFix});
  const Value& limit = directory["sizeLimit"];
  if (bytes_of(limit).value_or(kDefaultShm + 1) <= kDefaultShm)
    findings.add(limit, {fmt::format("/dev/shm of the container {} has {}", container, limit.text),
                         fmt::format("that is no more than without a volume: {}", kShmTooSmall),
                         "say sizeLimit: 1Gi or more"});
}

void check_container_shm(const Pod& pod, const Value& container, Findings& findings) {
  if (pod.spec()["hostIPC"].is("true")) return;
  const std::string& name = container["name"].text;
  if (const Value* volume = volume_at_shm(pod.spec(), container))
    check_shm_volume(*volume, name, findings);
  else
    findings.add(container, {fmt::format("the container {} has no volume at /dev/shm", name),
                             fmt::format("it has 64 MiB then, and {}", kShmTooSmall), kShmFix});
}

// What a TrainJob itself mounts there.
std::vector<const Value*> patched_shm(const TrainJob& job) {
  std::vector<const Value*> volumes;
  for (const Value* patch : pod_patches(job))
    if (const Value* container = named((*patch)["containers"], "node"))
      if (const Value* volume = volume_at_shm(*patch, *container)) volumes.push_back(volume);
  return volumes;
}

bool train_jobs_bring_shm(const Subject& subject) {
  const auto& jobs = subject.input.train_jobs_of(subject.manifest);
  return !jobs.empty() && std::ranges::all_of(jobs, [&](const Manifest* job) {
    return !patched_shm(train_job_of(*job, subject.input)).empty();
  });
}

}  // namespace

void check_shm(const Subject& subject, Findings& findings) {
  const Manifest& manifest = subject.manifest;
  if (manifest.kind == Kind::train_job)
    for (const Value* volume : patched_shm(train_job_of(manifest, subject.input)))
      check_shm_volume(*volume, "node", findings);
  const Runtime runtime = manifest.kind == Kind::runtime ? runtime_of(manifest) : Runtime{};
  if (runtime.manifest && train_jobs_bring_shm(subject)) return;
  for (const Pod& pod : pods_of(manifest)) {
    // A TrainJob brings the GPUs.
    const bool fills = runtime.manifest && runtime.gives_way(*pod.owner);
    for (const Value& container : pod.spec()["containers"].items)
      if (devices(container["resources"]).value_or(0) > 0 ||
          (fills && container["name"].is("node")))
        check_container_shm(pod, container, findings);
  }
}

void check_host_network_dns(const Subject& subject, Findings& findings) {
  for (const Pod& pod : pods_of(subject.manifest)) {
    const Value& spec = pod.spec();
    if (!spec["hostNetwork"].is("true")) continue;
    const Value& policy = spec["dnsPolicy"];
    if (policy.is("ClusterFirstWithHostNet") || policy.is("None")) continue;
    findings.add(policy.there() ? policy : spec["hostNetwork"],
                 {fmt::format("hostNetwork with dnsPolicy {}",
                              policy.there() ? policy.text : "ClusterFirst, the default"),
                  "the pod asks the node's DNS server, which knows no pod, so no rank is found",
                  "say dnsPolicy: ClusterFirstWithHostNet"});
  }
}

}  // namespace annulus::k8s
