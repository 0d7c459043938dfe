// See rules.h.
#include "engine/k8s/rules.h"

#include <array>

namespace annulus::k8s {
namespace {

constexpr std::array kRules{
    Rule{"duplicate-key", "all kinds",
         "a key that stands twice in one map: the first is lost without a word",
         check_duplicate_key},
    Rule{"name-length", "TrainJob, JobSet",
         "a name that makes pod names of more than 63 characters: JobSet is refused",
         check_name_length},
    Rule{"container-name", "runtimes, legacy operators' jobs",
         "no container of the name that the controller looks for", check_container_name},
    Rule{"ancestor-label", "runtimes",
         "no job labelled `trainer`: what a TrainJob says reaches no pod", check_ancestor_label},
    Rule{"ml-policy", "runtimes",
         "no mlPolicy: numNodes has no default, and 2.3 ignores resourcesPerNode", check_ml_policy},
    Rule{"replicas", "runtimes", "replicas other than 1 in a job that Trainer fills",
         check_replicas},
    Rule{"launcher-count", "runtimes", "MPI with numNodes above 1: as many launchers are started",
         check_launcher_count},
    Rule{"reserved-env", "TrainJob, runtimes, all jobs",
         "a variable that is the controller's to set", check_reserved_env},
    Rule{"trainer-missing", "TrainJob",
         "no `trainer:` under torch or jax: nothing is injected, each pod is alone",
         check_trainer_missing},
    Rule{"topology-tier", "runtimes",
         "networkTopology without highestTierAllowed: the controller crashes", check_topology_tier},
    Rule{"volcano-scheduler", "runtimes", "Volcano's policy without its scheduler: no gang",
         check_volcano_scheduler},
    Rule{"volcano-initializer", "runtimes",
         "Volcano's policy with initializers: the gang is never complete",
         check_volcano_initializer},
    Rule{"rdma-dropped", "TrainJob with its runtime",
         "resourcesPerNode without the runtime's RDMA adapters: up to 2.2 they are gone",
         check_rdma_dropped},
    Rule{"ttl-restarts", "runtimes",
         "a TTL with restarts: up to 2.3.0 a failed job is started again, for ever",
         check_ttl_restarts},
    Rule{"mig-count", "TrainJob, runtimes",
         "MIG instances, which count as no GPU, without numProcPerNode", check_mig_count},
    Rule{"istio-label", "all pods",
         "Istio's switch where it has no effect: a proxy resets connections between ranks",
         check_istio_label},
    Rule{"shm-missing", "TrainJob, pods with GPUs",
         "no memory at /dev/shm: 64 MiB are too few for NCCL", check_shm},
    Rule{"rdma-ipc-lock", "pods with RDMA adapters",
         "no IPC_LOCK: memory cannot be pinned, NCCL fails or takes TCP", check_rdma_ipc_lock},
    Rule{"host-network-dns", "all pods",
         "hostNetwork without ClusterFirstWithHostNet: pods are not found by name",
         check_host_network_dns},
    Rule{"ranks-over-gpus", "all jobs", "more ranks in a pod than GPUs", check_ranks_over_gpus},
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

}  // namespace annulus::k8s
