// All that was given at once: the manifests, and which TrainJob goes by which runtime. Invariant:
// what refers to another is found in the time of a look-up, however many manifests there are. Made
// by lint.h; used by the rules.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/k8s/manifest.h"

namespace annulus::k8s {

class Input {
 public:
  explicit Input(std::deque<Manifest> manifests);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  const std::deque<Manifest>& manifests() const { return manifests_; }

  // The runtime that a TrainJob names, of those given: the one in its own file first, since files
  // that are alike may be given together. Null: none.
  const Manifest* runtime_of(const Manifest& train_job) const;

  const std::vector<const Manifest*>& train_jobs_of(const Manifest& runtime) const;

 private:
  using Name = std::tuple<std::string, std::string, std::string>;  // kind, name, file or ""

  std::deque<Manifest> manifests_;
  std::map<Name, const Manifest*> runtimes_;
  std::map<const Manifest*, std::vector<const Manifest*>> train_jobs_;
};

}  // namespace annulus::k8s
