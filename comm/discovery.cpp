// See comm/discovery.h; names: comm/discovery_names.h, counting: comm/discovery_count.h.
#include "comm/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "comm/control.h"
#include "comm/discovery_count.h"
#include "comm/discovery_names.h"
#include "comm/discovery_pace.h"
#include "comm/discovery_words.h"
#include "comm/host_lookup.h"
#include "comm/interfaces.h"
#include "comm/resolver.h"
#include "kernels/check.h"

namespace annulus {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& why) { throw UserError(ExitCode::usage, why); }

Topology topology_of(const NodeIdentity& node, std::vector<Endpoint> workers) {
  Topology topology;
  topology.workers = std::move(workers);
  topology.index = node.index;
  topology.local_ranks = node.local_ranks.value_or(1);
  topology.job = node.job.empty() && node.pod ? node.pod->job : node.job;
  return topology;
}

void check_index(const NodeIdentity& node, std::size_t workers) {
  if (node.index < 0 || static_cast<std::size_t>(node.index) >= workers)
    refuse(fmt::format("{}: index {} is not among its {} workers, 0 to {}", node.source, node.index,
                       workers, static_cast<int>(workers) - 1));
}

// DNS takes capital letters and the dot at the end for nothing.
std::string plain(const Endpoint& worker) {
  Endpoint same = worker;
  std::ranges::transform(same.host, same.host.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (same.host.ends_with('.')) same.host.pop_back();
  return same.text();
}

void check_hosts(const NodeIdentity& node, const std::vector<Endpoint>& workers) {
  std::set<std::string> seen;
  for (const Endpoint& worker : workers) {
    if (!worker.host.empty() && !is_numeric_address(worker.host)) check_dns_name(worker.host);
    if (worker.host.empty() || worker.host == "0.0.0.0" || worker.host == "::")
      refuse(fmt::format("{}: '{}' names no host that another could reach", node.source,
                         worker.text()));
    if (!seen.insert(plain(worker)).second)
      refuse(fmt::format("{} names {} twice; workers on one host need different ports", node.source,
                         worker.text()));
  }
  const auto loopback = [](const Endpoint& worker) { return is_loopback(worker.host); };
  const auto local = std::ranges::find_if(workers, loopback);
  if (local != workers.end() && !std::ranges::all_of(workers, loopback))
    refuse(
        fmt::format("{} names worker {} as {}, which every host takes for itself; name it as the "
                    "other hosts reach it",
                    node.source, local - workers.begin(), local->text()));
}

// All are named: nothing to look up.
Topology listed(const NodeIdentity& node, const DiscoveryOptions& options) {
  std::vector<Endpoint> workers = node.workers;
  for (Endpoint& worker : workers)
    if (worker.port == 0) worker.port = options.port;
  check_index(node, workers.size());
  if (node.nodes && static_cast<std::size_t>(*node.nodes) != workers.size())
    refuse(fmt::format("{}: {} nodes, but {} workers are named", node.source, *node.nodes,
                       workers.size()));
  check_hosts(node, workers);
  Topology topology = topology_of(node, std::move(workers));
  // Behind a chief, index 0, workers count from 0 again.
  topology.chief = node.task_type == "chief" || node.task_index + 1 == node.index;
  return topology;
}

// A name that must resolve before the way goes on. Where it may be meant in several ways, the first
// that resolves is taken.
struct Wanted {
  std::string role;                // "own name", "worker 0"
  std::vector<std::string> names;  // in the order to ask
};

// What was found: the name and its addresses.
struct Found {
  std::string name;
  std::vector<std::string> addresses;
};

Found wait_for(Resolver& resolver, const Wanted& wanted, DiscoveryPace& pace) {
  if (const std::string& host = wanted.names.front(); is_numeric_address(host) || is_loopback(host))
    return {host, {host}};
  for (DnsAnswer heard;;) {
    std::vector<DnsAnswer> answers = resolver.ask(wanted.names, pace.round_deadline());
    for (std::size_t i = 0; i < answers.size(); ++i)
      if (answers[i].found()) return {wanted.names[i], answers[i].addresses};
    // Silence in a round that the deadline cuts short is no news.
    if (!pace.over() || answers.front().status != DnsAnswer::Status::timeout)
      heard = std::move(answers.front());
    pace.progress(fmt::format("waiting for {} ({}) after {}", short_name(wanted.names.front()),
                              heard.words(), pace.waited()));
    pace.pause();
    if (pace.over())
      throw PeerError(
          ExitCode::rendezvous, -1,
          fmt::format("discovery: {} {}: {} after {}; {}", wanted.role, wanted.names.front(),
                      heard.words(), pace.waited(), dns_advice(heard, wanted.role == "own name")));
  }
}

// A pod's own name should lead to an address of the pod.
void note_foreign_address(const Found& own, const DiscoveryPace& pace) {
  for (const Interface& interface : network_interfaces())
    for (const std::string& address : interface.addresses)
      if (std::ranges::count(own.addresses, address) > 0) return;
  pace.note(
      fmt::format("{} resolves to {}, which is no address of this host: a record of an "
                  "earlier pod, or hostNetwork; the others may not reach it",
                  own.name, own.addresses.front()));
}

void find_own_name(Resolver& resolver, const WorkerNames& names, int index, DiscoveryPace& pace) {
  note_foreign_address(wait_for(resolver, {"own name", {names.of(index)}}, pace), pace);
}

// JobSet names worker 0 alike in both of its patterns. Worker 1's name decides, where it comes
// within the settle time; Kubeflow Trainer's pattern is taken otherwise.
void decide_pattern(Resolver& resolver, WorkerNames& names, const DiscoveryOptions& options,
                    DiscoveryPace& pace) {
  for (const Deadline end = after(options.settle);;) {
    const std::vector<DnsAnswer> answers = resolver.ask({names.of(1), names.in_other_pattern(1)},
                                                        std::min(end, pace.round_deadline()));
    if (answers[0].found() || steady_clock::now() >= end || pace.over()) return;
    if (answers[1].found()) return names.take_other_pattern();
    pace.pause(end);
  }
}

// Where worker 0 is told by name, a worker can go there without a name of its own: not every
// operator makes one, and DNS may know it later.
void check_own_name(Resolver& resolver, const WorkerNames& names, int index, DiscoveryPace& pace) {
  const DnsAnswer answer = resolver.ask({names.of(index)}, pace.round_deadline()).front();
  if (answer.found()) return note_foreign_address({names.of(index), answer.addresses}, pace);
  pace.note(fmt::format("own name {}: {}; going on, as worker 0 is found", names.of(index),
                        answer.words()));
}

// The number is told: a worker finds itself and worker 0, and registers there.
std::vector<Endpoint> find_first(Resolver& resolver, const NodeIdentity& node,
                                 const DiscoveryOptions& options, WorkerNames& names,
                                 DiscoveryPace& pace) {
  std::string first = names.of(0);
  if (!node.first) find_own_name(resolver, names, node.index, pace);
  if (node.first || node.index > 0)
    first = wait_for(resolver, {"worker 0", names.of_first()}, pace).name;
  if (node.first && node.index > 0) check_own_name(resolver, names, node.index, pace);
  if (names.ambiguous()) decide_pattern(resolver, names, options, pace);
  std::vector<Endpoint> workers;
  for (int i = 0; i < *node.nodes; ++i) workers.push_back({names.of(i), options.port});
  workers[0].host = first;
  return workers;
}

// The number is not told: DNS is counted.
std::vector<Endpoint> count_all(Resolver& resolver, const NodeIdentity& node,
                                const DiscoveryOptions& options, WorkerNames& names,
                                DiscoveryPace& pace) {
  find_own_name(resolver, names, node.index, pace);
  const int count = count_workers(resolver, names, node.index, options, pace);
  pace.note(fmt::format("{} worker{} after {}", count, count == 1 ? "" : "s", pace.waited()));
  std::vector<Endpoint> workers;
  for (int i = 0; i < count; ++i) workers.push_back({names.of(i), options.port});
  return workers;
}

Topology looked_up(const NodeIdentity& node, const DiscoveryOptions& options,
                   const ClusterNames& cluster, const Progress& progress) {
  WorkerNames names(node, cluster);
  Resolver resolver(options.dns_servers);
  DiscoveryPace pace(options.timeout, node.index, progress);
  Topology topology =
      topology_of(node, node.nodes ? find_first(resolver, node, options, names, pace)
                                   : count_all(resolver, node, options, names, pace));
  topology.counted = !node.nodes;
  if (node.first) topology.workers[0].port = node.first->port;
  return topology;
}

// Where the workers have no names, worker 0's host is enough: the others register there.
Topology first_alone(const NodeIdentity& node) {
  std::vector<Endpoint> workers(static_cast<std::size_t>(*node.nodes));
  workers[0] = *node.first;
  return topology_of(node, std::move(workers));
}

// One node needs nobody.
Topology alone(const NodeIdentity& node, const DiscoveryOptions& options) {
  Endpoint self{"localhost", node.first ? node.first->port : options.port};
  if (node.first) self.host = node.first->host;
  if (node.pod && options.cluster) self.host = WorkerNames(node, *options.cluster).of(0);
  return topology_of(node, {self});
}

}  // namespace

Topology discover(const NodeIdentity& node, const DiscoveryOptions& options,
                  const Progress& progress) {
  if (!node.workers.empty()) return listed(node, options);
  if (node.nodes) check_index(node, static_cast<std::size_t>(*node.nodes));
  if (node.nodes == 1) return alone(node, options);
  const bool by_name = node.pod && options.cluster;
  if (!by_name && node.nodes && node.first) return first_alone(node);
  if (!node.pod)
    refuse(
        fmt::format("{}: nothing says who the other workers are; name them with --workers "
                    "host:port,…",
                    node.source));
  if (!by_name)
    refuse(
        fmt::format("{}: the other workers' names need a namespace and a cluster domain, but "
                    "/etc/resolv.conf has no search entry {{namespace}}.svc.{{domain}}; say "
                    "--namespace and --cluster-domain, or name them with --workers host:port,…",
                    node.source));
  return looked_up(node, options, *options.cluster, progress);
}

}  // namespace annulus
