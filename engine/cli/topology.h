// `annulus topology`: who the nodes of this run are, in the words of another program. Called by
// main.
#pragma once

#include <string>

#include "engine/cli/cli11.h"
#include "engine/cli/rank_options.h"

namespace annulus {

struct TopologyCommand {
  RankOptions ranks;
  std::string format = "tf_config";
};

void add_topology_options(CLI::App& app, TopologyCommand& command);

// Waits until the nodes are known, prints them on stdout; does not meet them.
void run_topology(const TopologyCommand& command);

}  // namespace annulus
