// TrainJobs and runtimes as Kubeflow Trainer's controller reads them: which policy, which job and
// container the TrainJob's `trainer` changes, how many nodes, which resources. Read in
// kubeflow/trainer v2.0.0 to v2.3.0, pkg/runtime. Used by the rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/k8s/input.h"
#include "engine/k8s/manifest.h"

namespace annulus::k8s {

inline constexpr const char* kAncestorLabel = "trainer.kubeflow.org/trainjob-ancestor-step";

// The value of that label on the template of a replicated job; missing where there is none.
const Value& ancestor_of(const Value& replicated_job);

struct Runtime {
  const Manifest* manifest = nullptr;
  std::string policy;                // "torch", "mpi", …; "plain"; empty: no mlPolicy
  const Value* job = nullptr;        // the replicated job labelled `trainer`, or null
  const Value* container = nullptr;  // its container `node`, or null

  const Value& ml_policy() const { return manifest->spec()["mlPolicy"]; }
  const Value& source() const { return ml_policy()[policy]; }  // of `torch`, `mpi`, …
  const Value& resources() const;
  // Whether a TrainJob's resources replace those of this job: the trainer's, and under MPI, from
  // 2.1 on, the pods `node` of a launcher that is a node too.
  bool gives_way(const Value& replicated_job) const;
};

Runtime runtime_of(const Manifest& manifest);

struct TrainJob {
  const Manifest* manifest = nullptr;
  const Manifest* runtime_manifest = nullptr;  // null: not in the input
  Runtime runtime;                             // empty without it
  std::string policy;                          // of the runtime, or of one that Trainer ships

  const Value& trainer() const { return manifest->spec()["trainer"]; }
  const Value& resources() const { return trainer()["resourcesPerNode"]; }
  // numNodes of the TrainJob, else of its runtime, else 1.
  std::int64_t nodes() const;
};

// What a TrainJob adds to the pods of its runtime's training job, as parts of pod specs:
// podSpecOverrides (2.0), podTemplateOverrides (2.1), runtimePatches (from 2.2 on).
std::vector<const Value*> pod_patches(const TrainJob& job);

TrainJob train_job_of(const Manifest& manifest, const Input& input);

}  // namespace annulus::k8s
