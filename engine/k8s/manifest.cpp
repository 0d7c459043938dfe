// See manifest.h.
#include "engine/k8s/manifest.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace annulus::k8s {
namespace {

constexpr const char* kTrainerGroup = "trainer.kubeflow.org/";
constexpr std::array<std::string_view, 6> kOperatorJobs = {"TFJob",      "PyTorchJob", "JAXJob",
                                                           "XGBoostJob", "PaddleJob",  "MPIJob"};

Kind kind_of(const std::string& group, const std::string& word) {
  if (group.starts_with(kTrainerGroup)) {
    if (word == "TrainJob") return Kind::train_job;
    return word.ends_with("TrainingRuntime") ? Kind::runtime : Kind::other;
  }
  if (group.starts_with("jobset.x-k8s.io/")) return word == "JobSet" ? Kind::job_set : Kind::other;
  if (group.starts_with("kubeflow.org/"))
    return std::ranges::find(kOperatorJobs, word) != kOperatorJobs.end() ? Kind::replicas_job
                                                                         : Kind::other;
  if (group.starts_with("batch.volcano.sh/"))
    return word == "Job" ? Kind::volcano_job : Kind::other;
  if (group == "batch/v1" && word == "Job") return Kind::job;
  for (const char* known : {"Pod", "PodTemplate", "ReplicationController", "CronJob", "Deployment",
                            "ReplicaSet", "StatefulSet", "DaemonSet"})
    if (word == known && (group == "v1" || group == "batch/v1" || group == "apps/v1"))
      return Kind::pods;
  return Kind::other;
}

// A trial is called as its experiment, a hyphen and eight letters; what has a generateName as that,
// and five letters (k8s.io/apiserver pkg/storage/names).
constexpr const char* kTrialSuffix = "-abcdefgh";
constexpr const char* kGeneratedSuffix = "abcde";

std::string name_in(const Value& metadata) {
  const Value &name = metadata["name"], &generated = metadata["generateName"];
  return name.text.empty() && !generated.text.empty() ? generated.text + kGeneratedSuffix
                                                      : name.text;
}

void append(const std::string& file, Value object, const std::string& name,
            std::deque<Manifest>& to) {
  Manifest manifest{.file = file, .word = object["kind"].text};
  manifest.kind = kind_of(object["apiVersion"].text, manifest.word);
  manifest.name = name.empty() ? name_in(object["metadata"]) : name;
  manifest.root = std::move(object);
  to.push_back(std::move(manifest));
}

void collect(const Value& jobs, std::vector<Pod>& pods) {
  for (const Value& job : jobs.items)
    pods.push_back({&job["template"]["spec"]["template"], &job, job["name"].text});
}

void collect_replicas(const Value& spec, std::vector<Pod>& pods) {
  for (std::size_t i = 0; i < spec.keys.size(); ++i) {
    if (!spec.keys[i].ends_with("ReplicaSpecs")) continue;
    const Value& replicas = spec.items[i];
    for (std::size_t k = 0; k < replicas.keys.size(); ++k)
      pods.push_back({&replicas.items[k]["template"], &replicas.items[k], replicas.keys[k]});
  }
}

// Nested alike in every kind that is left.
const Value& template_of(const Manifest& manifest) {
  const Value& root = manifest.root;
  if (manifest.word == "Pod") return root;
  if (manifest.word == "PodTemplate") return root["template"];
  if (manifest.word == "CronJob") return root["spec"]["jobTemplate"]["spec"]["template"];
  return root["spec"]["template"];
}

}  // namespace

void append_manifests(const std::string& file, Value document, std::deque<Manifest>& to) {
  const std::string word = document["kind"].text;
  if (word.ends_with("List") && document["items"].kind == Value::Kind::list) {
    for (const Value& item : document["items"].items) append_manifests(file, item, to);
    return;
  }
  const Value& trial = document["spec"]["trialTemplate"]["trialSpec"];
  if (word == "Experiment" && trial.kind == Value::Kind::map)
    return append(file, trial, name_in(document["metadata"]) + kTrialSuffix, to);
  append(file, std::move(document), "", to);
}

std::vector<Pod> pods_of(const Manifest& manifest) {
  std::vector<Pod> pods;
  switch (manifest.kind) {
    case Kind::runtime:
    case Kind::job_set:
      collect(replicated_jobs(manifest), pods);
      break;
    case Kind::replicas_job:
      collect_replicas(manifest.spec(), pods);
      break;
    case Kind::volcano_job:
      for (const Value& task : manifest.spec()["tasks"].items)
        pods.push_back({&task["template"], &task, task["name"].text});
      break;
    case Kind::job:
    case Kind::pods:
      pods.push_back({&template_of(manifest), &manifest.root, ""});
      break;
    case Kind::train_job:  // its pods are its runtime's
    case Kind::other:
      break;
  }
  return pods;
}

const Value& replicated_jobs(const Manifest& manifest) {
  const Value& spec = manifest.spec();
  return (manifest.kind == Kind::runtime ? spec["template"]["spec"] : spec)["replicatedJobs"];
}

const Value* named(const Value& list, std::string_view name) {
  for (const Value& item : list.items)
    if (item["name"].is(name)) return &item;
  return nullptr;
}

}  // namespace annulus::k8s
