// See comm/identity_operators.h. Sources: kubeflow/trainer's plugins torch and jax, the training
// operator's controllers pytorch, jax and mpi, mpi-operator.
#include "comm/identity_operators.h"

#include <cctype>

#include "comm/hostfile.h"
#include "kernels/environment.h"

namespace annulus::identity {
namespace {

const DeclaredEnvironment kDeclared(
    "Operators: which pod this is (flags beat them)",
    {{"PET_NNODES", "", "Trainer, PyTorchJob: N or N:N", "pods"},
     {"PET_NODE_RANK", "", "Trainer, PyTorchJob", "index of this pod"},
     {"PET_NPROC_PER_NODE", "", "Trainer, PyTorchJob: N, auto, gpu or cpu", "ranks a pod"},
     {"PET_MASTER_ADDR", "", "Trainer, PyTorchJob", "host of pod 0"},
     {"PET_MASTER_PORT", "", "Trainer, PyTorchJob", "its port"},
     {"PET_RDZV_ENDPOINT", "", "PyTorchJob: host:port", "pod 0 of an elastic job"},
     {"PET_RDZV_BACKEND", "", "PyTorchJob", "etcd: the endpoint is a server's, not pod 0's"},
     {"PET_RDZV_ID", "", "PyTorchJob", "name of the run"},
     {"JAX_NUM_PROCESSES", "", "Trainer", "pods"},
     {"JAX_PROCESS_ID", "", "Trainer", "index of this pod"},
     {"JAX_COORDINATOR_ADDRESS", "", "Trainer: host:port", "pod 0"},
     {"NUM_PROCESSES", "", "JAXJob", "pods"},
     {"PROCESS_ID", "", "JAXJob", "index of this pod"},
     {"COORDINATOR_ADDRESS", "", "JAXJob: host or host:port", "pod 0"},
     {"COORDINATOR_PORT", "", "JAXJob", "its port"},
     {"K_MPI_JOB_ROLE", "", "MPIJob", "launcher or worker"},
     {"OMPI_MCA_orte_default_hostfile", "", "MPIJob, Trainer: a file", "hosts for mpirun"}});

// N, or N:N as an elastic job of fixed size has it.
std::optional<int> pet_nodes(const Variables& variables) {
  const std::string text = variables.text("PET_NNODES");
  if (text.empty()) return std::nullopt;
  const std::size_t colon = text.find(':');
  const int least = parse_number("PET_NNODES", text.substr(0, colon));
  const int most =
      colon == std::string::npos ? least : parse_number("PET_NNODES", text.substr(colon + 1));
  if (least != most)
    refuse("PET_NNODES: elastic range {}:{}: a run keeps its number of nodes; give both ends alike",
           least, most);
  if (most == 0) refuse("PET_NNODES 0: a run has at least one node");
  return most;
}

// Nothing for the words, which leave it to the devices that are there.
std::optional<int> pet_local_ranks(const Variables& variables) {
  const std::string text = variables.text("PET_NPROC_PER_NODE");
  if (text.empty() || text == "auto" || text == "gpu" || text == "cpu") return std::nullopt;
  const int ranks = parse_number("PET_NPROC_PER_NODE", text);
  if (ranks == 0) refuse("PET_NPROC_PER_NODE 0: a node has at least one rank");
  return ranks;
}

int index_by_host_name(const PodSurroundings& pod, const char* nodes_name, int nodes) {
  if (pod.pod) return pod.pod->index;
  if (nodes == 1) return 0;
  refuse(
      "{} {} but nothing says which of them this is: host name '{}' is no worker's; give "
      "--workers and --index",
      nodes_name, nodes, printable(pod.host));
}

// Workers of PyTorchJob without a master are told nothing: worker 0 stands in, on the port that
// the operator opens for a master.
std::optional<Endpoint> first_by_host_name(const std::optional<PodName>& pod) {
  constexpr int operators_port = 23456;
  if (!pod || pod->pattern != PodName::Pattern::role) return std::nullopt;
  return Endpoint{fmt::format("{}-{}-0", pod->job, pod->role), operators_port};
}

std::optional<Endpoint> pet_first(const PodSurroundings& pod) {
  if (auto master = endpoint_of(pod.variables, "PET_MASTER_ADDR", "PET_MASTER_PORT")) return master;
  const std::string endpoint = pod.variables.text("PET_RDZV_ENDPOINT");
  const bool of_pod_0 = pod.variables.text("PET_RDZV_BACKEND") != "etcd";
  if (!endpoint.empty() && of_pod_0) return parse_endpoint("PET_RDZV_ENDPOINT", endpoint);
  return first_by_host_name(pod.pod);
}

// WORLD_SIZE in pods: operators have counted pods or the processes that torchrun would start.
int nodes_of_world(int world, std::optional<int> nodes, std::optional<int> local_ranks) {
  const int per_node = local_ranks.value_or(1);
  if (!nodes && per_node > 1)
    refuse(
        "WORLD_SIZE {} counts nodes, {} x {} processes expected (PET_NPROC_PER_NODE), or counts "
        "processes: set PET_NNODES, start annulus by torchrun, or give --workers and "
        "--index",
        world, world, per_node);
  if (!nodes || world == *nodes || world == *nodes * per_node) return nodes.value_or(world);
  refuse(
      "WORLD_SIZE {} but PET_NNODES {}, PET_NPROC_PER_NODE {}: it is neither the nodes nor all "
      "their processes",
      world, *nodes, per_node);
}

int required(const Variables& variables, const char* name, const char* beside) {
  const std::optional<int> value = variables.number(name);
  if (!value) refuse("{} missing beside {} {}", name, beside, printable(variables.text(beside)));
  return *value;
}

// A run of several that one of them would train alone.
void refuse_several_without(const Variables& variables, const char* count, const char* missing) {
  if (const std::optional<int> nodes = variables.number(count); nodes && *nodes > 1)
    refuse("{} missing beside {} {}", missing, count, *nodes);
}

}  // namespace

std::optional<NodeClaim> detect_pet(const PodSurroundings& pod) {
  const Variables& variables = pod.variables;
  const std::optional<int> rank = variables.number("PET_NODE_RANK");
  const bool a_sibling_says = !rank && variables.given("RANK");  // operators before PET_NODE_RANK
  if ((!rank && !variables.given("PET_NNODES")) || a_sibling_says) return std::nullopt;

  NodeClaim claim{{}, rank ? "PET_NODE_RANK" : "", "PET_NNODES"};
  NodeIdentity& node = claim.node;
  node.source = "PET_*";
  node.nodes = pet_nodes(variables);
  if (!node.nodes) refuse("PET_NNODES missing beside PET_NODE_RANK {}", *rank);
  node.index = rank ? *rank : index_by_host_name(pod, "PET_NNODES", *node.nodes);
  node.local_ranks = pet_local_ranks(variables);
  node.first = pet_first(pod);
  node.job = variables.text("PET_RDZV_ID");
  return claim;
}

std::optional<NodeClaim> detect_pytorch(const PodSurroundings& pod) {
  const Variables& variables = pod.variables;
  if (!variables.given("RANK") && !variables.given("WORLD_SIZE")) return std::nullopt;
  const std::optional<int> nodes = pet_nodes(variables);
  NodeClaim claim{{}, "RANK", nodes ? "PET_NNODES" : "WORLD_SIZE"};
  NodeIdentity& node = claim.node;
  node.source = "RANK and WORLD_SIZE";
  node.index = required(variables, "RANK", "WORLD_SIZE");
  node.local_ranks = pet_local_ranks(variables);
  node.nodes = nodes_of_world(required(variables, "WORLD_SIZE", "RANK"), nodes, node.local_ranks);
  node.first = endpoint_of(variables, "MASTER_ADDR", "MASTER_PORT");
  const auto pet = endpoint_of(variables, "PET_MASTER_ADDR", "PET_MASTER_PORT");
  if (node.first && pet && *node.first != *pet)
    refuse(
        "MASTER_ADDR and MASTER_PORT say {}, PET_MASTER_ADDR and PET_MASTER_PORT say {}: unset "
        "two of them",
        printable(node.first->text()), printable(pet->text()));
  return claim;
}

std::optional<NodeClaim> detect_jax(const PodSurroundings& pod) {
  const Variables& variables = pod.variables;
  const std::string coordinator = variables.text("JAX_COORDINATOR_ADDRESS");
  if (coordinator.empty()) {
    refuse_several_without(variables, "JAX_NUM_PROCESSES", "JAX_COORDINATOR_ADDRESS");
    return std::nullopt;
  }
  NodeClaim claim{{}, "JAX_PROCESS_ID", "JAX_NUM_PROCESSES"};
  claim.node.source = "JAX_*";
  claim.node.index = required(variables, "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS");
  claim.node.nodes = required(variables, "JAX_NUM_PROCESSES", "JAX_COORDINATOR_ADDRESS");
  claim.node.first = parse_endpoint("JAX_COORDINATOR_ADDRESS", coordinator);
  return claim;
}

std::optional<NodeClaim> detect_jax_job(const PodSurroundings& pod) {
  const Variables& variables = pod.variables;
  const std::string coordinator = variables.text("COORDINATOR_ADDRESS");
  if (coordinator.empty()) {
    if (variables.given("PROCESS_ID"))
      refuse_several_without(variables, "NUM_PROCESSES", "COORDINATOR_ADDRESS");
    return std::nullopt;
  }
  NodeClaim claim{{}, "PROCESS_ID", "NUM_PROCESSES"};
  claim.node.source = "JAXJob";
  claim.node.index = required(variables, "PROCESS_ID", "COORDINATOR_ADDRESS");
  claim.node.nodes = required(variables, "NUM_PROCESSES", "COORDINATOR_ADDRESS");
  claim.node.first = variables.given("COORDINATOR_PORT")
                         ? endpoint_of(variables, "COORDINATOR_ADDRESS", "COORDINATOR_PORT")
                         : parse_endpoint("COORDINATOR_ADDRESS", coordinator);
  return claim;
}

void refuse_mpi_job(const PodSurroundings& pod) {
  const std::string path = pod.variables.text("OMPI_MCA_orte_default_hostfile");
  const std::string role = pod.variables.text("K_MPI_JOB_ROLE");
  if (path.empty() && role.empty()) return;
  if (path.empty())
    refuse(
        "K_MPI_JOB_ROLE {} makes this a pod of an MPIJob, whose ranks mpirun starts: give the "
        "launcher the command: mpirun annulus train …",
        printable(role));
  int slots = 0;
  if (const std::optional<std::string> text = pod.all.file(path))
    for (const HostSlots& host : parse_hostfile(path, *text)) slots += host.slots;
  const std::string ranks = slots > 0 ? fmt::format(" -np {}", slots) : "";
  refuse(
      "OMPI_MCA_orte_default_hostfile {} makes this the launcher of an MPIJob: start the ranks "
      "by mpirun{} annulus train …, here",
      printable(path), ranks);
}

}  // namespace annulus::identity
