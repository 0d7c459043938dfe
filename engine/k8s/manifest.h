// A Kubernetes object as the rules see it: its kind, its name, and the pods that it makes at
// whatever depth its kind holds them. Made from documents; used by the rules.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/k8s/value.h"

namespace annulus::k8s {

enum class Kind {
  runtime,    // ClusterTrainingRuntime, TrainingRuntime
  train_job,  // of Kubeflow Trainer v2
  job_set,
  replicas_job,  // TFJob, PyTorchJob, MPIJob, … of the legacy operators
  volcano_job,
  job,    // batch/v1
  pods,   // Pod, and what makes them from a template: Deployment, CronJob, …
  other,  // nothing that the rules know
};

struct Manifest {
  std::string file;
  Kind kind = Kind::other;
  std::string word;  // as it stands in `kind:`
  std::string name;  // of a trial of Katib, or where the server makes it: its longest
  Value root;

  std::string object() const { return name.empty() ? word : word + " " + name; }
  const Value& spec() const { return root["spec"]; }
};

struct Pod {
  const Value* pod_template;  // holds `metadata` and `spec`
  const Value* owner;  // the replicated job, replica spec or task that it stands in; or itself
  std::string role;    // "node", "Worker"; empty: the only one
  const Value& spec() const { return (*pod_template)["spec"]; }
  const Value& metadata() const { return (*pod_template)["metadata"]; }
};

// Of lists their items, and of an Experiment of Katib the trial, too. A deque: they stay in place.
void append_manifests(const std::string& file, Value document, std::deque<Manifest>& to);

std::vector<Pod> pods_of(const Manifest& manifest);

// The replicated jobs of a JobSet, or of the one that a runtime holds.
const Value& replicated_jobs(const Manifest& manifest);

// The item with this `name`, or null.
const Value* named(const Value& list, std::string_view name);

}  // namespace annulus::k8s
