// The options by which a process finds the other ranks of its run. Called by engine/cli/options and
// by the subcommands that run on several ranks.
#pragma once

#include <optional>
#include <string>

#include "comm/identity.h"
#include "engine/cli/cli11.h"

namespace annulus {

// How nodes (pods) find each other.
struct DiscoveryFlags {
  int min_workers = 2;
  double settle = 5, timeout = 600;                  // seconds
  std::optional<int> worker_port;                    // not told: TF_WORKER_PORT, else 12345
  std::string kubernetes_namespace, cluster_domain;  // empty: resolv.conf's
};

struct RankOptions {
  std::string ranks;       // of this node: a number or "auto"; empty: below, in a pod auto
  int ranks_if_alone = 1;  // in all: those of the run that is gone on with or repeated
  IdentityFlags identity;
  DiscoveryFlags discovery;
  std::optional<double> rendezvous_timeout;  // seconds; not told: 60, in a pod what discovery left
  double peer_timeout = 5;                   // seconds
  std::string job, generation, secret_file;
  int metrics_port = 0;  // of this pod; 0: none is served
};

void add_rank_options(CLI::App& app, RankOptions& options);

// Those alone by which nodes find each other, and --ranks.
void add_node_options(CLI::App& app, RankOptions& options);

}  // namespace annulus
