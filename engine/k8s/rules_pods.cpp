// What a pod of ranks needs, whatever starts it.
#include <fmt/format.h>

#include <algorithm>

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

const Value* volume_at(const Value& pod_spec, const Value& container, std::string_view path) {
  for (const Value& mount : container["volumeMounts"].items)
    if (mount["mountPath"].is(path)) return named(pod_spec["volumes"], mount["name"].text);
  return nullptr;
}

void check_container_shm(const Pod& pod, const Value& container, Findings& findings) {
  if (pod.spec()["hostIPC"].is("true")) return;
  const Value* volume = volume_at(pod.spec(), container, "/dev/shm");
  const bool on_disk =
      volume && (*volume)["emptyDir"].there() && !(*volume)["emptyDir"]["medium"].is("Memory");
  if (volume && !on_disk) return;
  findings.add(
      on_disk ? *volume : container,
      {on_disk ? fmt::format("/dev/shm of the container {} is on the node's disk",
                             container["name"].text)
               : fmt::format("the container {} has no volume at /dev/shm", container["name"].text),
       on_disk ? "NCCL's buffers between GPUs become file writes"
               : "it has 64 MiB then, and NCCL dies with Bus error or slows down",
       "mount emptyDir: {medium: Memory} there; it counts as the container's memory"});
}

}  // namespace

void check_shm(const Subject& subject, Findings& findings) {
  const Manifest& manifest = subject.manifest;
  const Runtime runtime = manifest.kind == Kind::runtime ? runtime_of(manifest) : Runtime{};
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
