// See comm/discovery_names.h.
#include "comm/discovery_names.h"

#include <fmt/format.h>

#include <utility>

#include "comm/host_lookup.h"
#include "comm/resolver.h"
#include "kernels/check.h"

namespace annulus {
namespace {

using Pattern = PodName::Pattern;

std::string hostname_in(const PodName& pod, Pattern pattern, int index) {
  switch (pattern) {
    case Pattern::completion:
      return fmt::format("{}-{}-0-{}", pod.job, pod.role, index);
    case Pattern::replica:
      return fmt::format("{}-{}-{}-0", pod.job, pod.role, index);
    case Pattern::role:
      break;
  }
  return fmt::format("{}-{}-{}", pod.job, pod.role, index);
}

bool leads(const std::string& role) { return role == "master" || role == "chief"; }

// The master's or chief's host name where one stands in front of the workers, else empty; and the
// pod as the first of the workers behind it.
std::string take_leader(const NodeIdentity& node, PodName& pod) {
  const PodName told = pod;
  if (pod.pattern == Pattern::role && leads(pod.role) && pod.index == 0 && node.index == 0) {
    pod.role = "worker";
    return hostname_in(told, Pattern::role, 0);
  }
  if (pod.pattern == Pattern::role && node.index == pod.index + 1)
    return fmt::format("{}-master-0", pod.job);
  if (node.index == pod.index) return "";
  throw UserError(
      ExitCode::usage,
      fmt::format("{} says index {}, but the host name {} says {}; name all workers "
                  "with --workers host:port,…",
                  node.source, node.index, hostname_in(pod, pod.pattern, pod.index), pod.index));
}

}  // namespace

WorkerNames::WorkerNames(const NodeIdentity& node, ClusterNames cluster)
    : pod_(*node.pod), first_(node.first), cluster_(std::move(cluster)) {
  leader_ = take_leader(node, pod_);
  ambiguous_ = pod_.ambiguous() && node.index == 0 && pod_.pattern != Pattern::role;
  check_dns_name(of(node.index));
  if (node.nodes) check_dns_name(of(*node.nodes - 1));
}

std::string WorkerNames::of(int index) const { return in_pattern(pod_.pattern, index); }

std::string WorkerNames::in_pattern(Pattern pattern, int index) const {
  std::string hostname = hostname_in(pod_, pattern, leader_.empty() ? index : index - 1);
  if (!leader_.empty() && index == 0) hostname = leader_;
  if (pattern != Pattern::role) hostname += "." + pod_.job;  // the headless service's name
  return absolute_names(hostname, cluster_).front();
}

bool WorkerNames::possible(int index) const {
  try {
    check_dns_name(of(index));
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::vector<std::string> WorkerNames::of_first() const {
  if (!first_) return {of(0)};
  if (is_numeric_address(first_->host) || is_loopback(first_->host)) return {first_->host};
  return absolute_names(first_->host, cluster_);
}

std::string WorkerNames::in_other_pattern(int index) const {
  return in_pattern(pod_.pattern == Pattern::completion ? Pattern::replica : Pattern::completion,
                    index);
}

void WorkerNames::take_other_pattern() {
  pod_.pattern = pod_.pattern == Pattern::completion ? Pattern::replica : Pattern::completion;
}

std::string short_name(const std::string& host) {
  const bool of_a_pod = host.find(".svc") != std::string::npos;
  return of_a_pod ? host.substr(0, host.find('.')) : host;
}

}  // namespace annulus
