// What the workers of a job are called in DNS, from one pod's own name, and from worker 0's where
// only that is told: {job}-node-0-{i}.{job}.{namespace}.svc.{domain} and the like
// (docs/discovery.md). Invariant: names are absolute, without a trailing dot. Called by
// comm/discovery and comm/discovery_count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/identity.h"
#include "comm/resolv_conf.h"

namespace annulus {

class WorkerNames {
 public:
  // Of a node that knows its pod's name. Throws UserError (usage): the node's index is not the one
  // in that name, or the name of a worker that there must be has a label above 63 bytes.
  WorkerNames(const NodeIdentity& node, ClusterNames cluster);

  std::string of(int index) const;
  bool possible(int index) const;  // not for an index whose digits make the label too long

  // All names that worker 0 may have, in the order to ask: one, but for a host told in few labels.
  std::vector<std::string> of_first() const;

  bool ambiguous() const { return ambiguous_; }
  std::string in_other_pattern(int index) const;  // of an ambiguous pod's worker
  void take_other_pattern();

 private:
  std::string in_pattern(PodName::Pattern pattern, int index) const;

  PodName pod_;
  std::optional<Endpoint> first_;
  ClusterNames cluster_;
  std::string leader_;  // a master or chief in front of the workers: "cifar-master-0"
  bool ambiguous_ = false;
};

// "cifar-node-0-2" of "cifar-node-0-2.cifar.ml.svc.cluster.local"; what is no cluster's name as it
// is.
std::string short_name(const std::string& host);

}  // namespace annulus
