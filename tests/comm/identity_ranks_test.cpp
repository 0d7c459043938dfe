// Process launchers: each one's variables, and half of a family.
#include <gtest/gtest.h>

#include "comm/slurm_step.h"
#include "tests/comm/places.h"

namespace annulus {
namespace {

using test::Around;
using test::complaint;
using test::rank;
using test::says;
using test::Texts;

TEST(Ranks, Torchrun) {
  const Identity identity = rank({{{"RANK", "3"},
                                   {"WORLD_SIZE", "4"},
                                   {"LOCAL_RANK", "1"},
                                   {"LOCAL_WORLD_SIZE", "2"},
                                   {"MASTER_ADDR", "h0"},
                                   {"MASTER_PORT", "29500"},
                                   {"TORCHELASTIC_RUN_ID", "run"}}});
  EXPECT_EQ(identity.source, "torchrun");
  EXPECT_EQ(identity.rank, 3);
  EXPECT_EQ(identity.world, 4);
  EXPECT_EQ(identity.local_rank, 1);
  EXPECT_EQ(identity.local_world, 2);
  EXPECT_EQ(identity.rendezvous_host, "h0");
  EXPECT_EQ(identity.rendezvous_port, 29500);
  EXPECT_EQ(identity.job, "run");
}

TEST(Ranks, ThePortThatTorchrunHoldsItselfIsAvoided) {
  Around around{{{"RANK", "0"},
                 {"WORLD_SIZE", "2"},
                 {"LOCAL_RANK", "0"},
                 {"MASTER_ADDR", "h0"},
                 {"MASTER_PORT", "29500"},
                 {"TORCHELASTIC_USE_AGENT_STORE", "True"}}};
  EXPECT_EQ(rank(around).rendezvous_port, 29501);
  around.variables["MASTER_PORT"] = "65535";
  EXPECT_EQ(rank(around).rendezvous_port, 65534);
}

// Each pod of a job believed it was a job of one.
TEST(Ranks, TorchrunWithoutArgumentsInAJobOfSeveralPods) {
  Around around{
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}}, "tfd-node-0-1", {}, true};
  EXPECT_TRUE(says(complaint(around), "WORLD_SIZE 1 but host name index 1"));
  around.in_cluster = false;  // a machine may be called so
  EXPECT_TRUE(rank(around).alone());
  around.in_cluster = true;
  around.hostname = "tfd-node-0-0";
  EXPECT_TRUE(rank(around).alone());
}

TEST(Ranks, OpenMpi) {
  const Identity identity = rank({{{"OMPI_COMM_WORLD_RANK", "3"},
                                   {"OMPI_COMM_WORLD_SIZE", "4"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                   {"PMIX_RANK", "3"},
                                   {"PMIX_NAMESPACE", "3405840385"}}});
  EXPECT_EQ(identity.source, "Open MPI");
  EXPECT_EQ(identity.rank, 3);
  EXPECT_EQ(identity.local_world, 2);
  EXPECT_EQ(identity.job, "3405840385");
  EXPECT_TRUE(says(
      complaint(
          {{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}}}),
      "OMPI_COMM_WORLD_RANK 3 but PMIX_RANK 1"));
  EXPECT_TRUE(says(complaint({{{"PMIX_RANK", "1"}}}), "PMIX_RANK 1 makes this one process"));
}

TEST(Ranks, Flux) {
  Around around{{{"FLUX_TASK_RANK", "5"},
                 {"FLUX_JOB_SIZE", "8"},
                 {"FLUX_TASK_LOCAL_ID", "1"},
                 {"FLUX_JOB_ID", "f2kq"}}};
  const Identity identity = rank(around);
  EXPECT_EQ(identity.source, "Flux");
  EXPECT_EQ(identity.rank, 5);
  EXPECT_EQ(identity.world, 8);
  EXPECT_EQ(identity.local_rank, 1);
  EXPECT_EQ(identity.job, "f2kq");
  EXPECT_EQ(identity.rendezvous_port, 0);
  around.variables["MASTER_ADDR"] = "h0";
  around.variables["MASTER_PORT"] = "7";
  EXPECT_EQ(rank(around).rendezvous_host, "h0");
}

Around slurm_task() {
  return {{{"SLURM_STEP_ID", "2"},
           {"SLURM_JOB_ID", "4711"},
           {"SLURM_PROCID", "5"},
           {"SLURM_NTASKS", "16"},
           {"SLURM_STEP_NUM_TASKS", "8"},
           {"SLURM_LOCALID", "1"},
           {"SLURM_NODEID", "1"},
           {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
           {"SLURM_STEP_NODELIST", "gpu[03-04]"}}};
}

TEST(Ranks, SlurmInsideAStep) {
  const Identity identity = rank(slurm_task());
  EXPECT_EQ(identity.source, "Slurm");
  EXPECT_EQ(identity.rank, 5);
  EXPECT_EQ(identity.world, 8);
  EXPECT_EQ(identity.local_rank, 1);
  EXPECT_EQ(identity.local_world, 4);
  EXPECT_EQ(identity.job, "slurm-4711.2");
  EXPECT_EQ(identity.rendezvous_host, "gpu03");
  EXPECT_EQ(identity.rendezvous_port, slurm_port("slurm-4711.2"));
  Around sized_by_the_job = slurm_task();
  sized_by_the_job.variables.erase("SLURM_STEP_NUM_TASKS");
  EXPECT_EQ(rank(sized_by_the_job).world, 16);
}

TEST(Ranks, SlurmOutsideATaskIsNobody) {
  for (const char* step : {"", "batch", "extern", "interactive", "4294967291", "4294967292"}) {
    Around around = slurm_task();
    around.variables["SLURM_STEP_ID"] = step;
    EXPECT_TRUE(rank(around).alone()) << step;
  }
}

TEST(Ranks, WhereSlurmMayHavePutRank0Anywhere) {
  Around around = slurm_task();
  around.variables["SLURM_DISTRIBUTION"] = "arbitrary";
  EXPECT_EQ(rank(around).rendezvous_port, 0);
  around.variables["MASTER_ADDR"] = "gpu04";
  around.variables["MASTER_PORT"] = "29500";
  EXPECT_EQ(rank(around).rendezvous_host, "gpu04");
}

TEST(Ranks, MpirunInsideASlurmStepIsTheInner) {
  Around around = slurm_task();
  around.variables["OMPI_COMM_WORLD_RANK"] = "3";
  around.variables["OMPI_COMM_WORLD_SIZE"] = "4";
  EXPECT_EQ(rank(around).source, "Open MPI");
  EXPECT_EQ(rank(around).rank, 3);
}

TEST(SlurmStep, FirstHost) {
  const Texts lists{{"n1", "n1"},
                    {"n1,n2", "n1"},
                    {"gpu[01-04,07]", "gpu01"},
                    {"gpu[9,12],login", "gpu9"},
                    {"a-b.c[7]", "a-b.c7"},
                    {"", ""},
                    {"n[", ""},
                    {"n[1", ""},
                    {"n[x]", ""},
                    {"n[1-2]-ib", ""},
                    {"[1-2]", "1"},
                    {"n 1", ""}};
  for (const auto& [list, host] : lists)
    EXPECT_EQ(slurm_first_host(list).value_or(""), host) << list;
}

TEST(SlurmStep, TasksOfANode) {
  EXPECT_EQ(slurm_tasks_of_node("4(x2),3", 0), 4);
  EXPECT_EQ(slurm_tasks_of_node("4(x2),3", 1), 4);
  EXPECT_EQ(slurm_tasks_of_node("4(x2),3", 2), 3);
  EXPECT_EQ(slurm_tasks_of_node("4(x2),3", 3), std::nullopt);
  for (const char* wrong : {"", "x", "4(x", "4(x2", "4(x0),1", "0", "4(y2)", ","})
    EXPECT_EQ(slurm_tasks_of_node(wrong, 0), std::nullopt) << wrong;
}

TEST(SlurmStep, PortsOfRunsDiffer) {
  EXPECT_GE(slurm_port("slurm-1.0"), 20'000);
  EXPECT_LT(slurm_port("slurm-4294967295.12345"), 30'000);
  EXPECT_NE(slurm_port("slurm-1.0"), slurm_port("slurm-2.0"));
  EXPECT_NE(slurm_port("slurm-1.0"), slurm_port("slurm-1.1"));
}

TEST(Ranks, HalfOfAFamilyIsNamed) {
  EXPECT_TRUE(says(complaint({{{"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}}), "RANK missing"));
  EXPECT_TRUE(says(
      complaint({{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", "h0"}}}),
      "MASTER_PORT missing"));
  EXPECT_TRUE(says(complaint({{{"OMPI_COMM_WORLD_RANK", "0"}}}), "OMPI_COMM_WORLD_SIZE missing"));
  EXPECT_TRUE(says(complaint({{{"FLUX_JOB_SIZE", "4"}}}), "FLUX_TASK_RANK missing"));
  EXPECT_TRUE(says(complaint({{{"LOCAL_RANK", "1"}}}), "RANK and WORLD_SIZE missing"));
}

}  // namespace
}  // namespace annulus
