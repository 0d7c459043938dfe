// Runtimes whose pods are scheduled by Volcano, all at once or none; kubeflow/trainer v2.1.0 to
// v2.3.0, pkg/runtime/framework/plugins/volcano.
#include <fmt/format.h>

#include "engine/k8s/rules.h"
#include "engine/k8s/trainer.h"

namespace annulus::k8s {
namespace {

// Missing in what is no runtime under Volcano.
const Value& volcano_policy(const Manifest& manifest) {
  static const Value missing;
  if (manifest.kind != Kind::runtime) return missing;
  return manifest.spec()["podGroupPolicy"]["volcano"];
}

bool waits_for_the_end(const Value& jobs, const Value& job) {
  for (const Value& other : jobs.items)
    for (const Value& dependency : other["dependsOn"].items)
      if (dependency["status"].is("Complete") && dependency["name"].is(job["name"].text))
        return true;
  return false;
}

}  // namespace

void check_topology_tier(const Subject& subject, Findings& findings) {
  const Value& topology = volcano_policy(subject.manifest)["networkTopology"];
  if (topology.kind != Value::Kind::map || topology["highestTierAllowed"].whole()) return;
  findings.add(topology, kFrom21,
               {"networkTopology has no highestTierAllowed",
                "the controller reads it unasked and crashes, for every TrainJob of the cluster",
                "add highestTierAllowed, a tier of the cluster's HyperNodes"});
}

void check_volcano_scheduler(const Subject& subject, Findings& findings) {
  if (!volcano_policy(subject.manifest).there()) return;
  for (const Pod& pod : pods_of(subject.manifest)) {
    const Value& scheduler = pod.spec()["schedulerName"];
    if (scheduler.is("volcano")) continue;
    const Value& spec = pod.spec();
    findings.add(scheduler.there() ? scheduler
                 : spec.there()    ? spec
                                   : *pod.owner,
                 kFrom21,
                 {fmt::format("schedulerName of the pods {} is {}, not volcano", pod.role,
                              scheduler.there() ? scheduler.text : "not set"),
                  "Trainer makes the gang but leaves the pods to another scheduler, which starts "
                  "them one by one",
                  "add schedulerName: volcano to the pod's spec"});
  }
}

void check_volcano_initializer(const Subject& subject, Findings& findings) {
  if (!volcano_policy(subject.manifest).there()) return;
  const Value& jobs = replicated_jobs(subject.manifest);
  for (const Value& job : jobs.items) {
    const Value& step = ancestor_of(job);
    if (!step.is("dataset-initializer") && !step.is("model-initializer") &&
        !waits_for_the_end(jobs, job))
      continue;
    findings.add(job, kFrom21,
                 {fmt::format("the job {} has to end before another begins", job["name"].text),
                  "the gang counts the pods of both, so it is never complete and none starts",
                  "take it out: prepare data in a job of its own"});
  }
}

}  // namespace annulus::k8s
