// See input.h.
#include "engine/k8s/input.h"

#include <utility>

namespace annulus::k8s {

Input::Input(std::deque<Manifest> manifests) : manifests_(std::move(manifests)) {
  for (const Manifest& manifest : manifests_)
    if (manifest.kind == Kind::runtime)
      for (const std::string& file : {manifest.file, std::string()})
        runtimes_.try_emplace({manifest.word, manifest.name, file}, &manifest);
  for (const Manifest& manifest : manifests_)
    if (manifest.kind == Kind::train_job)
      if (const Manifest* runtime = runtime_of(manifest)) train_jobs_[runtime].push_back(&manifest);
}

const Manifest* Input::runtime_of(const Manifest& train_job) const {
  const Value& reference = train_job.spec()["runtimeRef"];
  const std::string kind =
      reference["kind"].there() ? reference["kind"].text : "ClusterTrainingRuntime";
  for (const std::string& file : {train_job.file, std::string()})
    if (const auto found = runtimes_.find({kind, reference["name"].text, file});
        found != runtimes_.end())
      return found->second;
  return nullptr;
}

const std::vector<const Manifest*>& Input::train_jobs_of(const Manifest& runtime) const {
  static const std::vector<const Manifest*> none;
  const auto found = train_jobs_.find(&runtime);
  return found == train_jobs_.end() ? none : found->second;
}

}  // namespace annulus::k8s
