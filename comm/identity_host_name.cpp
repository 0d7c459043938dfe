// The weakest source: a pod's own host name. Interface and caller: comm/identity_host_name.h.
#include "comm/identity_host_name.h"

#include "comm/pod_name.h"
#include "kernels/environment.h"

namespace annulus::identity {
namespace {

const DeclaredEnvironment kDeclared(
    "Pods: which one this is by its name (flags beat it)",
    {{"JOB_COMPLETION_INDEX", "", "set by Kubernetes", "index, compared with the host name's"},
     {"KUBERNETES_SERVICE_HOST", "", "set by Kubernetes", "tells that this is a pod"}});

// Under hostNetwork the host name is the machine's and may be like a worker's by chance.
void require_completion_index(const PodSurroundings& pod, const PodName& name) {
  const std::optional<int> completion = pod.variables.number("JOB_COMPLETION_INDEX");
  const int within_job = name.pattern == PodName::Pattern::replica ? 0 : name.index;
  if (completion && *completion != within_job)
    refuse(
        "host name says {}, JOB_COMPLETION_INDEX says {} ('{}'): under hostNetwork the host name "
        "is the machine's; give --index and --workers",
        within_job, *completion, printable(pod.host));
}

Identity alone(std::string note = "") {
  Identity identity;
  identity.source = "alone";
  identity.note = std::move(note);
  return identity;
}

Place place_of_unknown_name(const PodSurroundings& pod) {
  const std::optional<int> completion = pod.variables.number("JOB_COMPLETION_INDEX");
  if (completion.value_or(0) > 0)
    refuse(
        "JOB_COMPLETION_INDEX {} but host name '{}' does not say how the other pods are called: "
        "give --workers and --index",
        *completion, printable(pod.host));
  return alone();
}

// Operators tell a job of several pods more than a name, and a job of one nothing else.
Place place_of_role(const PodSurroundings& pod, const PodName& name) {
  if (name.index > 0)
    refuse(
        "host name '{}' is {} {} of a job, and nothing says of how many: give --nodes, or "
        "--nodes 1 to run alone",
        printable(pod.host), name.role, name.index);
  return alone(fmt::format("alone: nothing says of other pods beside host name {}", pod.host));
}

}  // namespace

bool in_a_pod(const Surroundings& surroundings) {
  const Variables variables(surroundings.environment);
  return surroundings.in_cluster || variables.given("JOB_COMPLETION_INDEX") ||
         variables.given("KUBERNETES_SERVICE_HOST");
}

Place place_by_host_name(const PodSurroundings& pod, std::optional<int> nodes) {
  if (!in_a_pod(pod.all))
    return alone(pod.pod ? fmt::format("alone: host name {} is like a worker's, but this is no pod",
                                       pod.host)
                         : "");
  const std::optional<PodName> name = parse_pod_name(pod.host);  // here a wrong one counts
  if (!name) return place_of_unknown_name(pod);
  if (name->role == "node")
    require_completion_index(pod, *name);
  else if (!nodes)
    return place_of_role(pod, *name);

  NodeIdentity node;
  node.index = name->index;
  node.source = "host name";
  node.pod = name;
  node.job = name->job;
  return node;
}

}  // namespace annulus::identity
