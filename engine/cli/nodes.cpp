// See nodes.h.
#include "engine/cli/nodes.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "comm/console.h"
#include "comm/host_name.h"
#include "comm/launcher_environment.h"
#include "comm/tf_config.h"
#include "engine/cli/add_option.h"
#include "engine/cli/ranks.h"
#include "kernels/check.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

constexpr int kWorkerPort = 12345;
constexpr const char* kTopologyVariable = "TF_CONFIG";
constexpr const char* kWorkerPortVariable = "TF_WORKER_PORT";

const DeclaredEnvironment kDeclared("Nodes", {{kWorkerPortVariable, "12345", "a port",
                                               "on which worker 0 listens"}});

std::optional<std::string> text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<ClusterNames> cluster_of(const DiscoveryFlags& flags) {
  std::optional<ClusterNames> cluster = read_resolv_conf().cluster();
  if (!cluster && flags.kubernetes_namespace.empty()) return std::nullopt;
  if (!cluster) cluster = ClusterNames{"", "cluster.local"};
  if (!flags.kubernetes_namespace.empty())
    cluster->kubernetes_namespace = flags.kubernetes_namespace;
  if (!flags.cluster_domain.empty()) cluster->domain = flags.cluster_domain;
  return cluster;
}

int worker_port(const DiscoveryFlags& flags) {
  if (flags.worker_port) return *flags.worker_port;
  const char* text = std::getenv(kWorkerPortVariable);
  if (!text || !*text) return kWorkerPort;
  return parse_endpoint(kWorkerPortVariable, fmt::format("worker-0:{}", text)).port;
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

// For the ranks and what they start. What is set already stays.
std::vector<std::pair<std::string, std::string>> exported(const Topology& topology,
                                                          int local_rank) {
  std::vector<std::pair<std::string, std::string>> variables =
      torchrun_variables(topology, local_rank);
  if (!std::getenv(kTopologyVariable) && topology.complete())
    variables.emplace_back(kTopologyVariable, tf_config_text(topology));
  return variables;
}

// Workers of one host share its devices, in their order.
struct HostShare {
  int before = 0, all = 0;  // nodes of this host
};

HostShare host_share(const Topology& topology) {
  HostShare share;
  for (int node = 0; node < topology.nodes(); ++node) {
    if (topology.workers[node].host != topology.workers[topology.index].host) continue;
    share.all += 1;
    share.before += node < topology.index ? 1 : 0;
  }
  return share;
}

int local_ranks_of(const NodeIdentity& node, const std::string& ranks, const Topology& topology) {
  if (ranks.empty() && node.local_ranks) return *node.local_ranks;
  if (!ranks.empty() && ranks != "auto") return std::stoi(ranks);
  return std::max(1, device_count_of_a_child() / host_share(topology).all);
}

}  // namespace

Surroundings surroundings(const RankOptions& options) {
  return {.environment = [](const char* name) { return std::getenv(name); },
          .hostname = host_name(),
          .file = text_of_file,
          .in_cluster = cluster_of(options.discovery).has_value()};
}

DiscoveryOptions discovery_options(const RankOptions& options) {
  const DiscoveryFlags& flags = options.discovery;
  DiscoveryOptions discovery;
  discovery.timeout = milliseconds(flags.timeout);
  discovery.settle = milliseconds(flags.settle);
  discovery.min_workers = flags.min_workers;
  discovery.port = worker_port(flags);
  discovery.cluster = cluster_of(flags);
  return discovery;
}

Topology find_topology(const NodeIdentity& node, const RankOptions& options) {
  if (!node.note.empty()) note(fmt::format("annulus: {}\n", node.note));
  const auto began = std::chrono::steady_clock::now();
  Topology topology = discover(node, discovery_options(options), [](const std::string& line) {
    note(fmt::format("annulus: {}\n", line));
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  topology.discovery_seconds = took.count();
  topology.local_ranks = local_ranks_of(node, options.ranks, topology);
  note(fmt::format(
      "annulus: node {} of {} ({}{}), {} here, worker 0 at {}\n", topology.index, topology.nodes(),
      node.source, topology.counted ? "; counted in DNS" : "",
      topology.local_ranks == 1 ? "1 rank" : fmt::format("{} ranks", topology.local_ranks),
      topology.workers.front().text()));
  return topology;
}

Identity become_rank(const NodeIdentity& node, const Topology& topology) {
  for (const auto& [name, value] : exported(topology, 0)) setenv(name.c_str(), value.c_str(), 1);
  const HostShare share = host_share(topology);
  Identity identity;
  identity.rank = topology.index;
  identity.world = topology.nodes();
  identity.local_rank = share.before;
  identity.local_world = share.all;
  identity.source = node.source;
  identity.rendezvous_host = topology.workers.front().host;
  identity.rendezvous_port = topology.workers.front().port;
  identity.job = topology.job;
  identity.node = topology.index;
  identity.nodes = topology.nodes();
  identity.counted = topology.counted;
  identity.discovery_seconds = topology.discovery_seconds;
  return identity;
}

LaunchPlace launch_place(const Topology& topology, double seconds_to_meet) {
  const HostShare share = host_share(topology);
  LaunchPlace place;
  place.first_local_rank = share.before * topology.local_ranks;
  place.local_world = share.all * topology.local_ranks;
  place.first_rank = topology.index * topology.local_ranks;
  place.world = topology.nodes() * topology.local_ranks;
  place.rendezvous = topology.workers.front();
  place.job = topology.job;
  place.environment = [topology, seconds_to_meet](int local_rank) {
    std::vector<std::pair<std::string, std::string>> variables = exported(topology, local_rank);
    variables.emplace_back(environment_twin("--rendezvous-timeout"),
                           fmt::format("{:.1f}", seconds_to_meet));
    variables.emplace_back(launcher_environment::node, std::to_string(topology.index));
    variables.emplace_back(launcher_environment::nodes, std::to_string(topology.nodes()));
    variables.emplace_back(launcher_environment::counted, topology.counted ? "1" : "");
    variables.emplace_back(launcher_environment::discovery,
                           std::to_string(std::lround(1000 * topology.discovery_seconds)));
    return variables;
  };
  return place;
}

std::unique_ptr<AbsentWorkers> absent_workers(const Identity& identity,
                                              const RankOptions& options) {
  const char* tf_config = std::getenv(kTopologyVariable);
  if (!identity.node || !tf_config) return nullptr;
  Topology topology;
  topology.workers = parse_tf_config(tf_config).workers;
  return watch_absent(topology, discovery_options(options));
}

}  // namespace annulus
