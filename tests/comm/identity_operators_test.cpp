// Pod launchers that tell variables: each one's names, words and traps.
#include <gtest/gtest.h>

#include "tests/comm/places.h"

namespace annulus {
namespace {

using test::Around;
using test::complaint;
using test::node;
using test::rank;
using test::says;
using test::Texts;

Around pod(Texts variables, const std::string& hostname = "") {
  return {std::move(variables), hostname, {}, !hostname.empty()};
}

// --- PET_* ---------------------------------------------------------------------------------------

Texts pet(const std::string& nodes, const std::string& rank, const std::string& ranks_each) {
  return {{"PET_NNODES", nodes}, {"PET_NODE_RANK", rank}, {"PET_NPROC_PER_NODE", ranks_each}};
}

TEST(Pet, TrainersTorchPolicy) {
  Texts variables = pet("2", "1", "8");
  variables["PET_MASTER_ADDR"] = "cifar-node-0-0.cifar";
  variables["PET_MASTER_PORT"] = "29500";
  const NodeIdentity identity = node(pod(variables, "cifar-node-0-1"));
  EXPECT_EQ(identity.source, "PET_*");
  EXPECT_EQ(identity.index, 1);
  EXPECT_EQ(identity.nodes, 2);
  EXPECT_EQ(identity.local_ranks, 8);
  EXPECT_EQ(identity.first, (Endpoint{"cifar-node-0-0.cifar", 29500}));
  ASSERT_TRUE(identity.pod);
  EXPECT_EQ(identity.pod->job, "cifar");
  EXPECT_EQ(identity.job, "cifar");
}

TEST(Pet, WordsLeaveTheRanksToTheDevices) {
  for (const char* word : {"auto", "gpu", "cpu", ""})
    EXPECT_EQ(node(pod(pet("2", "1", word))).local_ranks, std::nullopt) << word;
  EXPECT_TRUE(says(complaint(pod(pet("2", "1", "tpu"))), "PET_NPROC_PER_NODE 'tpu'"));
  EXPECT_TRUE(says(complaint(pod(pet("2", "1", "0"))), "PET_NPROC_PER_NODE 0"));
}

TEST(Pet, ARangeIsOnlyANumberWhereBothEndsAreAlike) {
  EXPECT_EQ(node(pod(pet("2:2", "1", "8"))).nodes, 2);
  EXPECT_TRUE(says(complaint(pod(pet("2:4", "0", "8"))), "elastic range 2:4"));
  for (const char* wrong : {"2:", ":2", "2:2:2", "two", "0", "-1"})
    EXPECT_TRUE(says(complaint(pod(pet(wrong, "0", ""))), "PET_NNODES")) << wrong;
}

TEST(Pet, HalfOfIt) {
  EXPECT_TRUE(says(complaint(pod({{"PET_NODE_RANK", "1"}})), "PET_NNODES missing"));
  EXPECT_TRUE(says(complaint(pod(pet("2", "2", "")), {}), "PET_NODE_RANK 2 >= PET_NNODES 2"));
  EXPECT_TRUE(says(complaint(pod({{"PET_NNODES", "2"}}, "laptop")),
                   "nothing says which of them this is: host name 'laptop'"));
  EXPECT_EQ(node(pod({{"PET_NNODES", "1"}, {"PET_NPROC_PER_NODE", "8"}}, "laptop")).local_ranks, 8);
  EXPECT_TRUE(says(complaint(pod({{"PET_NNODES", "1"}}, "cifar-worker-1")),
                   "host name index 1 >= PET_NNODES 1"));
}

TEST(Pet, AnElasticJobHasItsEndpointAndTheHostName) {
  const Texts elastic{{"PET_RDZV_ENDPOINT", "cifar-worker-0:23456"},
                      {"PET_RDZV_BACKEND", "c10d"},
                      {"PET_NNODES", "2:2"},
                      {"PET_RDZV_ID", "mnist"}};
  const NodeIdentity identity = node(pod(elastic, "cifar-worker-1"));
  EXPECT_EQ(identity.index, 1);
  EXPECT_EQ(identity.first, (Endpoint{"cifar-worker-0", 23456}));
  EXPECT_EQ(identity.job, "mnist");
}

TEST(Pet, AnEtcdServerIsNotPod0) {
  const Texts etcd{
      {"PET_RDZV_ENDPOINT", "etcd:2379"}, {"PET_RDZV_BACKEND", "etcd"}, {"PET_NNODES", "2"}};
  EXPECT_EQ(node(pod(etcd, "cifar-worker-1")).first, (Endpoint{"cifar-worker-0", 23456}));
}

TEST(Pet, WorkersWithoutAMasterHaveOnlyTheirNames) {
  const NodeIdentity identity = node(pod({{"PET_NNODES", "3"}}, "my-cifar-worker-2"));
  EXPECT_EQ(identity.index, 2);
  EXPECT_EQ(identity.nodes, 3);
  EXPECT_EQ(identity.first, (Endpoint{"my-cifar-worker-0", 23456}));
  EXPECT_TRUE(says(complaint(pod({{"PET_NNODES", "2"}}, "cifar-worker-2")),
                   "host name index 2 >= PET_NNODES 2"));
}

// --- RANK and WORLD_SIZE
// ---------------------------------------------------------------------------

Texts pytorch_job(const std::string& rank, const std::string& world) {
  return {{"MASTER_ADDR", "cifar-master-0"},
          {"MASTER_PORT", "23456"},
          {"RANK", rank},
          {"WORLD_SIZE", world}};
}

Texts pytorch_job(const std::string& rank, const std::string& world, const std::string& nodes,
                  const std::string& ranks_each) {
  Texts variables = pytorch_job(rank, world);
  variables["PET_NODE_RANK"] = rank;
  variables["PET_NNODES"] = nodes;
  variables["PET_NPROC_PER_NODE"] = ranks_each;
  return variables;
}

TEST(PyTorch, RankIsAPods) {
  const NodeIdentity identity = node(pod(pytorch_job("1", "2"), "cifar-worker-0"));
  EXPECT_EQ(identity.source, "RANK and WORLD_SIZE");
  EXPECT_EQ(identity.index, 1);
  EXPECT_EQ(identity.nodes, 2);
  EXPECT_EQ(identity.local_ranks, std::nullopt);
  EXPECT_EQ(identity.first, (Endpoint{"cifar-master-0", 23456}));
  ASSERT_TRUE(identity.pod);
  EXPECT_EQ(identity.pod->role, "worker");
  EXPECT_EQ(identity.pod->index, 0);
  EXPECT_EQ(identity.job, "cifar");
  EXPECT_EQ(node(pod(pytorch_job("0", "2"), "cifar-master-0")).index, 0);
}

TEST(PyTorch, WorldSizeCountsPodsOrProcesses) {
  for (const char* world : {"2", "16"}) {
    const NodeIdentity identity = node(pod(pytorch_job("1", world, "2", "8")));
    EXPECT_EQ(identity.index, 1);
    EXPECT_EQ(identity.nodes, 2) << world;
    EXPECT_EQ(identity.local_ranks, 8);
  }
  EXPECT_EQ(node(pod(pytorch_job("1", "2", "2", "auto"))).nodes, 2);
  EXPECT_TRUE(
      says(complaint(pod(pytorch_job("1", "16", "2", "auto"))), "WORLD_SIZE 16 but PET_NNODES 2"));
  EXPECT_TRUE(says(complaint(pod(pytorch_job("1", "12", "2", "8"))),
                   "WORLD_SIZE 12 but PET_NNODES 2, PET_NPROC_PER_NODE 8"));
  EXPECT_TRUE(says(complaint(pod(pytorch_job("3", "16", "2", "8"))), "3 >= PET_NNODES 2"));
}

TEST(PyTorch, WithoutTheNodesWorldSizeCannotBeTold) {
  Texts variables = pytorch_job("1", "2");
  variables["PET_NPROC_PER_NODE"] = "8";
  EXPECT_TRUE(
      says(complaint(pod(variables)), "WORLD_SIZE 2 counts nodes, 2 x 8 processes expected"));
  variables["PET_NPROC_PER_NODE"] = "1";
  EXPECT_EQ(node(pod(variables)).nodes, 2);
}

TEST(PyTorch, AnOlderOperatorHasNoNodeRank) {
  Texts variables = pytorch_job("1", "2", "2", "auto");
  variables.erase("PET_NODE_RANK");
  EXPECT_EQ(node(pod(variables, "cifar-worker-0")).index, 1);
}

TEST(PyTorch, ContradictionsShowBoth) {
  Texts variables = pytorch_job("1", "2", "2", "auto");
  variables["PET_NODE_RANK"] = "0";
  EXPECT_TRUE(says(complaint(pod(variables)),
                   "PET_* says node 0 of 2, RANK and WORLD_SIZE says node 1 of 2"));
  variables = pytorch_job("1", "2", "2", "auto");
  variables["PET_MASTER_ADDR"] = "other";
  variables["PET_MASTER_PORT"] = "23456";
  EXPECT_TRUE(says(complaint(pod(variables)), "say cifar-master-0:23456, PET_MASTER_ADDR"));
}

TEST(PyTorch, HalfOfIt) {
  EXPECT_TRUE(says(complaint(pod({{"RANK", "1"}})), "WORLD_SIZE missing beside RANK 1"));
  EXPECT_TRUE(says(complaint(pod({{"WORLD_SIZE", "2"}})), "RANK missing beside WORLD_SIZE 2"));
  EXPECT_TRUE(says(complaint(pod({{"RANK", "4"}, {"WORLD_SIZE", "4"}})), "RANK 4 >= WORLD_SIZE 4"));
  EXPECT_TRUE(says(complaint(pod({{"RANK", "0"}, {"WORLD_SIZE", "0"}})), "WORLD_SIZE 0"));
  Texts variables = pytorch_job("1", "2");
  variables.erase("MASTER_PORT");
  EXPECT_TRUE(says(complaint(pod(variables)), "MASTER_PORT missing"));
}

// --- JAX
// -------------------------------------------------------------------------------------------

TEST(Jax, TrainersPolicy) {
  Texts variables{{"JAX_NUM_PROCESSES", "4"},
                  {"JAX_PROCESS_ID", "1"},
                  {"JAX_COORDINATOR_ADDRESS", "cifar-node-0-0.cifar:29500"}};
  const NodeIdentity identity = node(pod(variables, "cifar-node-0-1"));
  EXPECT_EQ(identity.index, 1);
  EXPECT_EQ(identity.nodes, 4);
  EXPECT_EQ(identity.first, (Endpoint{"cifar-node-0-0.cifar", 29500}));
  variables["JAX_PROCESS_ID"] = "2";
  EXPECT_TRUE(
      says(complaint(pod(variables, "cifar-node-0-1")), "JAX_PROCESS_ID 2 but host name index 1"));
  variables.erase("JAX_NUM_PROCESSES");
  EXPECT_TRUE(says(complaint(pod(variables)), "JAX_NUM_PROCESSES missing"));
}

TEST(Jax, JaxJob) {
  Texts variables{{"NUM_PROCESSES", "3"},
                  {"PROCESS_ID", "2"},
                  {"COORDINATOR_ADDRESS", "cifar-worker-0"},
                  {"COORDINATOR_PORT", "6666"}};
  const NodeIdentity identity = node(pod(variables, "cifar-worker-2"));
  EXPECT_EQ(identity.source, "JAXJob");
  EXPECT_EQ(identity.index, 2);
  EXPECT_EQ(identity.nodes, 3);
  EXPECT_EQ(identity.first, (Endpoint{"cifar-worker-0", 6666}));
  variables.erase("COORDINATOR_PORT");
  variables["COORDINATOR_ADDRESS"] = "cifar-worker-0:7";
  EXPECT_EQ(node(pod(variables)).first->port, 7);
  EXPECT_TRUE(rank(pod({{"NUM_PROCESSES", "3"}})).alone()) << "a name that others use too";
}

TEST(Jax, OneOfSeveralIsNotAloneBecauseNobodyNamesTheFirst) {
  EXPECT_TRUE(says(complaint(pod({{"JAX_NUM_PROCESSES", "2"}, {"JAX_PROCESS_ID", "0"}})),
                   "JAX_COORDINATOR_ADDRESS missing beside JAX_NUM_PROCESSES 2"));
  EXPECT_TRUE(says(complaint(pod({{"NUM_PROCESSES", "2"}, {"PROCESS_ID", "0"}})),
                   "COORDINATOR_ADDRESS missing beside NUM_PROCESSES 2"));
  EXPECT_TRUE(rank(pod({{"JAX_NUM_PROCESSES", "1"}, {"JAX_PROCESS_ID", "0"}})).alone());
}

// --- Volcano
// ---------------------------------------------------------------------------------------

const Texts kVolcano{{"VC_TASK_INDEX", "0"},
                     {"VC_MASTER_HOSTS", "j-master-0.j"},
                     {"VC_WORKER_HOSTS", "j-worker-0.j,j-worker-1.j"},
                     {"VC_WORKER_NUM", "2"}};

TEST(Volcano, MasterFirstThenWorkers) {
  const NodeIdentity identity = node(pod(kVolcano, "j-worker-0"));
  EXPECT_EQ(identity.source, "Volcano");
  EXPECT_EQ(identity.index, 1);
  EXPECT_EQ(identity.nodes, 3);
  EXPECT_EQ(identity.workers,
            (std::vector<Endpoint>{{"j-master-0.j", 0}, {"j-worker-0.j", 0}, {"j-worker-1.j", 0}}));
  EXPECT_EQ(identity.job, "j");
  EXPECT_EQ(node(pod(kVolcano, "j-master-0")).index, 0);
  EXPECT_EQ(node(pod(kVolcano, "j-master-0")).task_type, "chief");
}

TEST(Volcano, ItsPytorchPluginTellsThePort) {
  Texts variables = kVolcano;
  variables.insert({{"MASTER_ADDR", "j-master-0.j"},
                    {"MASTER_PORT", "23456"},
                    {"RANK", "1"},
                    {"WORLD_SIZE", "3"}});
  const NodeIdentity identity = node(pod(variables, "j-worker-0"));
  EXPECT_EQ(identity.workers.at(0), (Endpoint{"j-master-0.j", 23456}));
  EXPECT_EQ(identity.workers.size(), 3U);
  EXPECT_FALSE(identity.pod) << "no pod of its has a bare name";
  variables["RANK"] = "2";
  EXPECT_TRUE(says(complaint(pod(variables, "j-worker-0")), "Volcano says node 1 of 3"));
}

TEST(Volcano, ListsInFiles) {
  Around around = pod({}, "my-job-my-role-1");
  around.files["/etc/volcano/my-role.host"] = "my-job-my-role-0.my-job\nmy-job-my-role-1.my-job\n";
  const NodeIdentity identity = node(around);
  EXPECT_EQ(identity.index, 1);
  EXPECT_EQ(identity.nodes, 2);
  EXPECT_EQ(identity.job, "my-job");
}

TEST(Volcano, ContradictionsAreNamed) {
  Texts variables = kVolcano;
  variables["VK_TASK_INDEX"] = "2";
  EXPECT_TRUE(says(complaint(pod(variables)), "VC_TASK_INDEX 0, VK_TASK_INDEX 2"));
  variables = kVolcano;
  variables["VC_TASK_INDEX"] = "1";
  EXPECT_TRUE(says(complaint(pod(variables, "j-worker-0")),
                   "VC_TASK_INDEX 1 but VC_WORKER_HOSTS has host name 'j-worker-0' at 0"));
  variables = kVolcano;
  variables["VC_WORKER_NUM"] = "3";
  EXPECT_TRUE(
      says(complaint(pod(variables, "j-worker-0")), "VC_WORKER_NUM 3 but VC_WORKER_HOSTS names 2"));
}

TEST(Volcano, AParameterServerIsRefused) {
  EXPECT_TRUE(says(complaint(pod({{"VC_PS_HOSTS", "j-ps-0.j"}}, "j-ps-0")), "ps is not supported"));
}

TEST(Volcano, AHostThatNoListNamesIsNotAlone) {
  EXPECT_TRUE(says(complaint(pod(kVolcano, "gpu-host-7")),
                   "VC_MASTER_HOSTS does not name this host, 'gpu-host-7'"));
}

TEST(Volcano, ATaskIndexAloneDoesNotSayHowMany) {
  EXPECT_TRUE(says(complaint(pod({{"VC_TASK_INDEX", "1"}}, "j-trainer-1")), "plugin svc"));
  EXPECT_TRUE(rank(pod({{"VC_TASK_INDEX", "0"}}, "j-trainer-0")).alone());
}

// --- MPIJob
// ----------------------------------------------------------------------------------------

TEST(MpiJob, IsStartedByMpirun) {
  Around launcher =
      pod({{"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"}}, "cifar-launcher");
  EXPECT_TRUE(says(complaint(launcher), "by mpirun annulus train"));
  launcher.files["/etc/mpi/hostfile"] = "cifar-worker-0 slots=8\ncifar-worker-1 slots=8\n";
  EXPECT_TRUE(says(complaint(launcher), "by mpirun -np 16 annulus train"));
  launcher.files["/etc/mpi/hostfile"] = "cifar-worker-0 slots=8\ncifar-worker-1 slots=x\n";
  EXPECT_TRUE(says(complaint(launcher), "/etc/mpi/hostfile line 2"));
  EXPECT_TRUE(says(complaint(pod({{"K_MPI_JOB_ROLE", "worker"}}, "cifar-worker-1")), "mpirun"));
  EXPECT_EQ(rank(launcher, {.rank = 0, .world = 1}).source, "flags");
}

}  // namespace
}  // namespace annulus
