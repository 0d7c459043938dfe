// A runtime and its TrainJobs, as Trainer's controller puts them together.
#include <fmt/format.h>

#include "engine/k8s/rules.h"
#include "engine/k8s/trainer.h"

namespace annulus::k8s {

void check_ancestor_label(const Subject& subject, Findings& findings) {
  if (subject.manifest.kind != Kind::runtime || runtime_of(subject.manifest).job) return;
  const Value& jobs = replicated_jobs(subject.manifest);
  std::string fact = fmt::format("no job's template has the label {}: trainer", kAncestorLabel);
  const Value* at = jobs.there() ? &jobs : &subject.manifest.root;
  for (const Value& job : jobs.items) {
    const Value& pod = job["template"]["spec"]["template"]["metadata"]["labels"][kAncestorLabel];
    const Value& annotation = job["template"]["metadata"]["annotations"][kAncestorLabel];
    for (const Value* misplaced : {&pod, &annotation})
      if (misplaced->there()) {
        at = misplaced;
        fact += misplaced == &pod ? ", but a pod's has it" : ", but one has it as an annotation";
      }
  }
  findings.add(*at, kFrom20,
               {fact, "a TrainJob's numNodes, image, arguments, env and resources reach no pod",
                "put it into replicatedJobs[…].template.metadata.labels of the job that trains"});
}

void check_ml_policy(const Subject& subject, Findings& findings) {
  if (subject.manifest.kind != Kind::runtime) return;
  const Value& spec = subject.manifest.spec();
  if (spec["mlPolicy"].kind == Value::Kind::map) return;
  findings.add(spec["mlPolicy"].there() ? spec["mlPolicy"]
               : spec.there()           ? spec
                                        : subject.manifest.root,
               kFrom20,
               {"there is no mlPolicy",
                "no number of nodes is given, and 2.3 drops the resourcesPerNode of TrainJobs",
                "add mlPolicy: {numNodes: 1}, which is the plain policy, or one with torch: {}"});
}

void check_replicas(const Subject& subject, Findings& findings) {
  if (subject.manifest.kind != Kind::runtime) return;
  for (const Value& job : replicated_jobs(subject.manifest).items) {
    const Value& replicas = job["replicas"];
    if (!ancestor_of(job).there() || replicas.whole().value_or(1) == 1) continue;
    findings.add(replicas, kFrom20,
                 {fmt::format("replicas is {}, must be 1", replicas.text),
                  "Trainer makes one Job of numNodes pods, and its webhook refuses the runtime",
                  "say the number of nodes by mlPolicy.numNodes and the TrainJob's numNodes"});
  }
}

void check_launcher_count(const Subject& subject, Findings& findings) {
  if (subject.manifest.kind != Kind::runtime) return;
  const Runtime runtime = runtime_of(subject.manifest);
  const Value& nodes = runtime.ml_policy()["numNodes"];
  if (runtime.policy != "mpi" || !runtime.job || !(*runtime.job)["name"].is("launcher")) return;
  if (nodes.whole().value_or(1) <= 1) return;
  findings.add(nodes, kFrom20,
               {fmt::format("numNodes is {}, and the job launcher is labelled trainer", nodes.text),
                fmt::format("it gets that many pods: mpirun is started {} times", nodes.text),
                "say numNodes: 1 here; a TrainJob's numNodes sets the pods node alone"});
}

void check_trainer_missing(const Subject& subject, Findings& findings) {
  if (subject.manifest.kind != Kind::train_job) return;
  const TrainJob job = train_job_of(subject.manifest, subject.input);
  if (job.trainer().kind == Value::Kind::map || (job.policy != "torch" && job.policy != "jax"))
    return;
  const char* names = job.policy == "torch" ? "PET_*" : "JAX_*";
  const Value& spec = subject.manifest.spec();
  findings.add(spec.there() ? spec : subject.manifest.root,
               job.policy == "torch" ? kFrom20 : kFrom22,
               {fmt::format("there is no trainer: under the {} policy", job.policy),
                fmt::format("the controller then injects no {}, and each pod trains alone", names),
                fmt::format("add trainer: {{numNodes: {}}}", job.nodes())});
}

void check_ttl_restarts(const Subject& subject, Findings& findings) {
  if (subject.manifest.kind != Kind::runtime) return;
  const Value& job_set = subject.manifest.spec()["template"]["spec"];
  const Value& ttl = job_set["ttlSecondsAfterFinished"];
  const Value& policy = job_set["failurePolicy"];
  if (!ttl.there() || policy.kind != Value::Kind::map) return;
  const Value& restarts = policy["maxRestarts"];
  findings.add(
      ttl, kUpTo23,
      {fmt::format("a JobSet is removed {} s after its end, and may restart {} times", ttl.text,
                   restarts.there() ? restarts.text : "0"),
       "up to 2.3.0 the controller makes a failed one anew then, its restarts uncounted, for ever "
       "(kubeflow/trainer issue 3779)",
       "leave ttlSecondsAfterFinished out until Trainer is newer, and delete TrainJobs yourself"});
}

}  // namespace annulus::k8s
