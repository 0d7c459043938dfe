// The rules between launchers, host name and flags. The interface and who calls it:
// comm/identity.h.
#include "comm/identity.h"

#include <algorithm>

#include "comm/identity_host_name.h"
#include "comm/identity_nodes.h"
#include "comm/identity_ranks.h"
#include "comm/launcher_environment.h"

namespace annulus {
namespace {

using namespace identity;

bool say_a_rank(const IdentityFlags& flags) {
  return flags.rank || flags.world || flags.local_rank || flags.local_world;
}

bool say_a_node(const IdentityFlags& flags) {
  return flags.index || flags.nodes || !flags.workers.empty();
}

// Nothing else needs to be asked: what the environment holds may be broken.
bool say_all(const IdentityFlags& flags) {
  return (flags.rank && flags.world) ||
         (flags.index && (!flags.workers.empty() || (flags.nodes && !flags.rendezvous.empty())));
}

Named flag_or(const char* flag, const std::optional<int>& value, const std::optional<int>& other) {
  return {flag, value ? value : other};
}

// The flags over what the environment says, value by value.
Identity rank_by_flags(const IdentityFlags& flags, const std::optional<Identity>& found) {
  const auto known = [&](int Identity::*member) {
    return found ? std::optional((*found).*member) : std::nullopt;
  };
  std::optional<int> local_world = known(&Identity::local_world);
  if (local_world && flags.local_rank) local_world = std::max(*local_world, *flags.local_rank + 1);
  Identity identity = checked({
      flag_or("--rank", flags.rank, known(&Identity::rank)),
      flag_or("--world-size", flags.world, known(&Identity::world)),
      flag_or("--local-rank", flags.local_rank, known(&Identity::local_rank)),
      flag_or("--local-world-size", flags.local_world, local_world),
  });
  identity.source = "flags";
  if (found) {
    identity.job = found->job;
    identity.rendezvous_host = found->rendezvous_host;
    identity.rendezvous_port = found->rendezvous_port;
  }
  return identity;
}

// torchrun without arguments makes each pod of a job a run of its own.
void require_all_pods(const Identity& identity, const Surroundings& surroundings) {
  const std::optional<PodName> pod = pod_surroundings(surroundings).pod;
  if (identity.source == "torchrun" && identity.local_world == identity.world && pod &&
      pod->role == "node" && pod->index > 0 && in_a_pod(surroundings))
    refuse(
        "WORLD_SIZE {} but host name index {} ('{}'): tell torchrun of the other nodes, or start "
        "annulus without it",
        identity.world, pod->index, printable(surroundings.hostname));
}

Identity rank_place(const IdentityFlags& flags, const std::optional<Identity>& found,
                    const Surroundings& surroundings) {
  Identity identity = say_a_rank(flags) ? rank_by_flags(flags, found) : *found;
  require_all_pods(identity, surroundings);
  if (!flags.rendezvous.empty()) {
    const Endpoint first = parse_endpoint("--rendezvous", flags.rendezvous);
    identity.rendezvous_host = first.host;
    identity.rendezvous_port = first.port;
  }
  return identity;
}

Identity alone_by_flags() {
  Identity identity;
  identity.source = "flags";
  return identity;
}

// The flags over what the environment says of this node, or over nothing.
NodeIdentity node_by_flags(const IdentityFlags& flags, const NodeIdentity* found) {
  NodeIdentity node = found ? *found : NodeIdentity{};
  if (!flags.workers.empty()) {
    node.workers = parse_endpoints("--workers", flags.workers);
    node.nodes = static_cast<int>(node.workers.size());
    if (flags.nodes && *flags.nodes != *node.nodes)
      refuse("--nodes {} but --workers names {}", *flags.nodes, *node.nodes);
  }
  if (!found && !flags.index)
    refuse("--index missing beside {}", flags.workers.empty() ? "--nodes" : "--workers");
  if (flags.index) node.index = *flags.index;
  if (flags.nodes) node.nodes = flags.nodes;
  if (flags.index || !flags.workers.empty()) {
    node.source = "flags";
    node.pod.reset();
    node.task_type = "worker";
    node.task_index = node.index;
  }
  if (node.nodes && node.index >= *node.nodes)
    refuse("{} {} >= {} {}: nodes count from 0 to their number less one",
           flags.index ? "--index" : node.source + " index", node.index,
           flags.workers.empty() ? "--nodes" : "--workers", *node.nodes);
  return node;
}

void set_first(NodeIdentity& node, const std::string& rendezvous) {
  if (rendezvous.empty()) return;
  node.first = parse_endpoint("--rendezvous", rendezvous);
  if (!node.workers.empty()) node.workers.front() = *node.first;
}

Place node_place(const IdentityFlags& flags, const Surroundings& surroundings) {
  if (flags.nodes == 1 && flags.workers.empty()) return alone_by_flags();
  Place found = Identity{};
  if (!say_all(flags)) found = detect_node(surroundings, flags.nodes);
  if (std::holds_alternative<EvaluatorTask>(found)) return found;
  const auto* detected = std::get_if<NodeIdentity>(&found);
  if (!detected && !say_a_node(flags)) return found;
  NodeIdentity node = node_by_flags(flags, detected);
  set_first(node, flags.rendezvous);
  return node;
}

}  // namespace

Place detect_place(const IdentityFlags& flags, const Surroundings& surroundings) {
  const Variables variables(surroundings.environment);
  // Annulus's launcher has obeyed the flags; its ranks are started with the same command line.
  if (variables.given(launcher_environment::rank)) return *detect_rank(variables);
  if (say_a_rank(flags) && say_a_node(flags))
    refuse("--rank and its kind name a rank, --workers, --index and --nodes a node: leave one out");
  std::optional<Identity> rank;
  if (!say_all(flags)) rank = detect_rank(variables);
  if (rank && say_a_node(flags))
    refuse(
        "{} has started rank {} of {}: leave out --workers, --index and --nodes, which name a "
        "node that starts its ranks itself",
        rank->source, rank->rank, rank->world);
  if (rank || say_a_rank(flags)) return rank_place(flags, rank, surroundings);
  return node_place(flags, surroundings);
}

}  // namespace annulus
