// See topology.h. The topology goes to stdout, all else to stderr.
#include "engine/cli/topology.h"

#include <fmt/format.h>

#include "comm/console.h"
#include "comm/topology.h"
#include "engine/cli/add_option.h"
#include "engine/cli/device.h"
#include "engine/cli/nodes.h"
#include "engine/stop_signals.h"
#include "kernels/check.h"

namespace annulus {
namespace {

// A node that nobody describes is the only one.
Topology only_node(const RankOptions& options) {
  NodeIdentity node;
  node.nodes = 1;
  node.workers = {{surroundings(options).hostname, 0}};
  node.local_ranks = 1;
  node.source = "alone";
  return find_topology(node, options);
}

Topology topology_of_this_process(const RankOptions& options) {
  const Place place = detect_place(options.identity, surroundings(options));
  if (std::holds_alternative<EvaluatorTask>(place))
    throw UserError(ExitCode::usage, "an evaluator is no part of the topology: ask a worker");
  if (const auto* node = std::get_if<NodeIdentity>(&place)) return find_topology(*node, options);
  const Identity& identity = std::get<Identity>(place);
  if (identity.alone()) return only_node(options);
  throw UserError(ExitCode::usage,
                  fmt::format("{} tells this process its rank, not the nodes of its run: ask where "
                              "a pod starts, or give --workers and --index",
                              identity.source));
}

std::string rendered(const Topology& topology, const std::string& format) {
  if (format != "torchrun" && !topology.complete())
    throw UserError(ExitCode::usage,
                    fmt::format("only worker 0 is named here, {}: use --format torchrun, or name "
                                "all by --workers",
                                topology.workers.front().text()));
  if (format == "tf_config") return tf_config_text(topology);
  std::string lines = format == "hostfile" ? hostfile_text(topology) : torchrun_text(topology);
  lines.pop_back();  // print_line ends the last one
  return lines;
}

}  // namespace

void add_topology_options(CLI::App& app, TopologyCommand& command) {
  add(app, "What to print", "--format", command.format,
      "TF_CONFIG's value, lines NAME=VALUE that torchrun reads, or an MPI hostfile")
      ->check(CLI::IsMember({"tf_config", "torchrun", "hostfile"}))
      ->capture_default_str();
  add_node_options(app, command.ranks);
}

void run_topology(const TopologyCommand& command) {
  install_stop_signals();  // the wait for the others may be long, and this be process 1
  choose_device("auto");   // "a rank a device" counts them
  print_line(rendered(topology_of_this_process(command.ranks), command.format));
}

}  // namespace annulus
