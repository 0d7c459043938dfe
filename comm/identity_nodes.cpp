// The table of pod launchers and how what they say is put together. Interface and caller:
// comm/identity_nodes.h.
#include "comm/identity_nodes.h"

#include <array>
#include <vector>

#include "comm/identity_host_name.h"
#include "comm/identity_operators.h"
#include "comm/pod_name.h"
#include "comm/tf_config.h"
#include "kernels/environment.h"

namespace annulus::identity {
namespace {

const DeclaredEnvironment kDeclared("Pods: which one this is (flags beat them)",
                                    {{"TF_CONFIG", "", "JSON, set by TFJob, Volcano or a user",
                                      "all workers, and which this is"}});

std::optional<NodeClaim> detect_tf_config(const PodSurroundings& pod) {
  const std::string text = pod.variables.text("TF_CONFIG");
  if (text.empty()) return std::nullopt;
  const TfConfig config = parse_tf_config(text);
  NodeClaim claim{{}, "TF_CONFIG's index", "TF_CONFIG's workers"};
  NodeIdentity& node = claim.node;
  node.index = config.index;
  node.nodes = static_cast<int>(config.workers.size());
  node.workers = config.workers;
  node.task_type = config.task_type;
  node.task_index = config.task_index;
  node.source = "TF_CONFIG";
  if (pod.pod && (pod.pod->role != config.task_type || pod.pod->index != config.task_index))
    node.note = fmt::format("TF_CONFIG makes this {} {}; host name {} is not asked",
                            config.task_type, config.task_index, pod.host);
  return claim;
}

constexpr std::array detectors{detect_tf_config, detect_pet,     detect_pytorch,
                               detect_jax,       detect_jax_job, detect_volcano};

void require_sound(const NodeClaim& claim) {
  const NodeIdentity& node = claim.node;
  if (node.nodes == 0) refuse("{} 0: a run has at least one node", claim.nodes_name);
  if (node.nodes && node.index >= *node.nodes)
    refuse("{} {} >= {} {}: nodes count from 0 to their number less one",
           claim.index_name.empty() ? "host name index" : claim.index_name, node.index,
           claim.nodes_name, *node.nodes);
}

void require_agreement(const NodeClaim& first, const NodeClaim& second) {
  const NodeIdentity &a = first.node, &b = second.node;
  if (a.index != b.index || (a.nodes && b.nodes && *a.nodes != *b.nodes))
    refuse(
        "{} says node {} of {}, {} says node {} of {}: unset the variables of one, or give "
        "--index and --workers",
        a.source, a.index, a.nodes.value_or(0), b.source, b.index, b.nodes.value_or(0));
}

void fill_gaps(NodeIdentity& node, const NodeIdentity& other) {
  if (!node.nodes) node.nodes = other.nodes;
  if (!node.local_ranks) node.local_ranks = other.local_ranks;
  if (node.workers.empty()) node.workers = other.workers;
  if (!node.first) node.first = other.first;
  if (node.first && !node.workers.empty() && node.workers[0].port == 0)
    node.workers[0].port = node.first->port;
  if (node.job.empty()) node.job = other.job;
}

std::optional<NodeClaim> read_environment(const PodSurroundings& pod) {
  std::optional<NodeClaim> found;
  for (const auto detect : detectors) {
    std::optional<NodeClaim> claim = detect(pod);
    if (!claim) continue;
    if (claim->node.task_type == "evaluator") return claim;
    require_sound(*claim);
    if (found) {
      require_agreement(*found, *claim);
      fill_gaps(found->node, claim->node);
    } else {
      found = std::move(claim);
    }
  }
  return found;
}

// Operators number a job's pods by role; where there is a master it is node 0 and worker 0 node 1.
bool may_be(const PodName& pod, int index) {
  return index == pod.index || (pod.role == "worker" && index == pod.index + 1);
}

// A host name in which an operator's numbers find no place. Outside of pods it may be a machine's,
// but a run of one node does not start on two machines.
void require_fitting_host_name(const NodeClaim& claim, const PodSurroundings& pod) {
  if (!pod.pod || claim.index_name.empty() || claim.node.source == "TF_CONFIG") return;
  const PodName& name = *pod.pod;
  const std::optional<int> nodes = claim.node.nodes;
  const bool here = in_a_pod(pod.all);
  if (nodes && name.index >= *nodes && (here || (name.role == "node" && *nodes == 1)))
    refuse(
        "{} {} but host name index {} ('{}'): unset the wrong one, or give --workers and --index",
        claim.nodes_name, *nodes, name.index, printable(pod.host));
  if (here && !may_be(name, claim.node.index))
    refuse(
        "{} {} but host name index {} ('{}'): unset the wrong one, or give --workers and --index",
        claim.index_name, claim.node.index, name.index, printable(pod.host));
}

// The others are called as this one is. Volcano's pods are called as the training operator's, but
// live in a subdomain, as the host of the first tells.
void add_pod_name(NodeIdentity& node, const PodName& pod) {
  const bool in_a_subdomain = node.first && node.first->host.find('.') != std::string::npos;
  if (pod.pattern == PodName::Pattern::role && in_a_subdomain) return;
  node.pod = pod;
  if (node.job.empty()) node.job = pod.job;
}

}  // namespace

PodSurroundings pod_surroundings(const Surroundings& surroundings) {
  PodSurroundings pod{Variables(surroundings.environment),
                      surroundings.hostname.substr(0, surroundings.hostname.find('.')),
                      std::nullopt, surroundings};
  try {
    pod.pod = parse_pod_name(pod.host);
  } catch (const UserError&) {
    pod.pod.reset();  // counts only where the name alone decides
  }
  return pod;
}

Place detect_node(const Surroundings& surroundings, std::optional<int> nodes) {
  const PodSurroundings pod = pod_surroundings(surroundings);
  std::optional<NodeClaim> claim = read_environment(pod);
  if (claim) {
    NodeIdentity& node = claim->node;
    if (node.task_type == "evaluator") return EvaluatorTask{node.source};
    require_fitting_host_name(*claim, pod);
    if (pod.pod && in_a_pod(surroundings) && may_be(*pod.pod, node.index) && node.note.empty())
      add_pod_name(node, *pod.pod);
    return node;
  }
  refuse_mpi_job(pod);
  if (!nodes) refuse_volcano_without_hosts(pod);
  return place_by_host_name(pod, nodes);
}

}  // namespace annulus::identity
