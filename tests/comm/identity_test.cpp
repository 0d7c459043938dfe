// The rules between launchers and flags: levels, who beats whom, contradictions, numbers that are
// none.
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

const Texts kTorchrun{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}};

TEST(Identity, WithoutALauncherARankIsAlone) {
  const Identity identity = rank({});
  EXPECT_TRUE(identity.alone());
  EXPECT_EQ(identity.source, "alone");
  EXPECT_EQ(identity.rendezvous_host, "");
  EXPECT_EQ(identity.note, "");
}

TEST(Identity, SourcesOfOneLevelMustAgree) {
  Around around{kTorchrun};
  around.variables["OMPI_COMM_WORLD_RANK"] = "1";
  around.variables["OMPI_COMM_WORLD_SIZE"] = "2";
  EXPECT_EQ(rank(around).rank, 1);
  around.variables["OMPI_COMM_WORLD_RANK"] = "0";
  EXPECT_TRUE(says(complaint(around), "torchrun says rank 1 of 2, Open MPI says rank 0 of 2"));
}

TEST(Identity, TheInnerLevelBeatsTheOuter) {
  Around around{kTorchrun};
  around.variables["TF_CONFIG"] = "not looked at";
  around.variables["PET_NNODES"] = "1:9";
  around.variables["SLURM_STEP_ID"] = "0";
  around.variables["SLURM_PROCID"] = "7";
  around.variables["SLURM_NTASKS"] = "8";
  EXPECT_EQ(rank(around).source, "torchrun");
}

TEST(Identity, AnnulusLauncherIsTheInnermostAndHasObeyedTheFlags) {
  Around around{kTorchrun};
  around.variables["ANNULUS_LAUNCHER_RANK"] = "3";
  around.variables["ANNULUS_LAUNCHER_RANKS"] = "4";
  around.variables["ANNULUS_LAUNCHER_LOCAL_RANK"] = "1";
  around.variables["ANNULUS_LAUNCHER_LOCAL_RANKS"] = "2";
  around.variables["ANNULUS_LAUNCHER_RENDEZVOUS"] = "127.0.0.1:4000";
  around.variables["ANNULUS_LAUNCHER_JOB"] = "abc";
  around.variables["ANNULUS_LAUNCHER_NODE"] = "1";
  around.variables["ANNULUS_LAUNCHER_NODES"] = "2";
  const Identity identity =
      rank(around, {.rendezvous = "h0:1", .workers = "h0:1,h1:1", .index = 1});
  EXPECT_EQ(identity.source, "annulus launcher");
  EXPECT_EQ(identity.rank, 3);
  EXPECT_EQ(identity.world, 4);
  EXPECT_EQ(identity.local_rank, 1);
  EXPECT_EQ(identity.local_world, 2);
  EXPECT_EQ(identity.rendezvous_host, "127.0.0.1");
  EXPECT_EQ(identity.rendezvous_port, 4000);
  EXPECT_EQ(identity.job, "abc");
  EXPECT_EQ(identity.node, 1);
  EXPECT_EQ(identity.ranks_a_node(), 2);
  EXPECT_FALSE(identity.counted);
  around.variables["ANNULUS_LAUNCHER_COUNTED"] = "1";
  EXPECT_TRUE(rank(around).counted);
  around.variables.erase("ANNULUS_LAUNCHER_NODE");
  around.variables.erase("ANNULUS_LAUNCHER_NODES");
  EXPECT_FALSE(rank(around).node) << "ranks of one machine";
}

TEST(Identity, FlagsBeatTheEnvironment) {
  const Around broken{{{"RANK", "one"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}};
  const Identity identity = rank(broken, {.rank = 1, .world = 3, .rendezvous = "[fd00::7]:29500"});
  EXPECT_EQ(identity.source, "flags");
  EXPECT_EQ(identity.rank, 1);
  EXPECT_EQ(identity.world, 3);
  EXPECT_EQ(identity.rendezvous_host, "fd00::7");
  EXPECT_EQ(identity.rendezvous_port, 29500);

  const Identity local =
      rank({{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}}, {.local_rank = 1});
  EXPECT_EQ(local.rank, 1);
  EXPECT_EQ(local.local_rank, 1);
}

TEST(Identity, FlagsThatDoNotFitAreNamed) {
  EXPECT_TRUE(says(complaint({}, {.rank = 2, .world = 2}), "--rank 2 >= --world-size 2"));
  EXPECT_TRUE(says(complaint({}, {.rank = 1}), "--world-size missing"));
  EXPECT_TRUE(says(complaint({}, {.world = 2}), "--rank missing"));
  EXPECT_TRUE(says(complaint({}, {.local_rank = 1}), "--rank and --world-size missing"));
  EXPECT_TRUE(says(complaint({}, {.rank = 0, .world = 0}), "--world-size 0"));
  EXPECT_TRUE(says(complaint({}, {.rank = 0, .world = 2, .local_rank = 1, .local_world = 1}),
                   "--local-rank 1 >= --local-world-size 1"));
  for (const char* wrong :
       {"host", ":29500", "host:", "host:0", "host:65536", "fd00::7:29500", "[]:1"})
    EXPECT_TRUE(says(complaint({}, {.rank = 0, .world = 2, .rendezvous = wrong}), "--rendezvous"))
        << wrong;
}

TEST(Identity, WorkersByFlags) {
  const IdentityFlags flags{.workers = "127.0.0.1:12345,127.0.0.1:12346", .index = 1};
  const Around broken{{{"TF_CONFIG", "{"}}, "tfd-node-0-7"};
  const NodeIdentity identity = node(broken, flags);
  EXPECT_EQ(identity.source, "flags");
  EXPECT_EQ(identity.index, 1);
  EXPECT_EQ(identity.nodes, 2);
  EXPECT_EQ(identity.workers, (std::vector<Endpoint>{{"127.0.0.1", 12345}, {"127.0.0.1", 12346}}));
  EXPECT_EQ(identity.task_index, 1);
}

TEST(Identity, AFewNodeFlagsCompleteEachOther) {
  const NodeIdentity identity = node({}, {.rendezvous = "h0:7", .index = 1, .nodes = 2});
  EXPECT_EQ(identity.nodes, 2);
  EXPECT_EQ(identity.first, (Endpoint{"h0", 7}));
  EXPECT_TRUE(rank({{}, "tfd-node-0-1", {}, true}, {.nodes = 1}).alone());
  EXPECT_TRUE(says(complaint({}, {.nodes = 2}), "--index missing beside --nodes"));
  EXPECT_TRUE(says(complaint({}, {.workers = "h0:1"}), "--index missing beside --workers"));
  EXPECT_TRUE(
      says(complaint({}, {.workers = "h0:1,h1:1", .index = 2}), "--index 2 >= --workers 2"));
  EXPECT_TRUE(says(complaint({}, {.workers = "h0:1,h1:1", .index = 0, .nodes = 3}),
                   "--nodes 3 but --workers names 2"));
  EXPECT_TRUE(says(complaint({}, {.rank = 0, .index = 0}), "leave one out"));
  EXPECT_TRUE(says(complaint({kTorchrun}, {.nodes = 2}), "torchrun has started rank 1 of 2"));
}

TEST(Identity, NodesCompleteAHostName) {
  const Around pod{{}, "cifar-node-0-1", {}, true};
  EXPECT_EQ(node(pod).nodes, std::nullopt);
  EXPECT_EQ(node(pod, {.nodes = 4}).nodes, 4);
  EXPECT_EQ(node(pod, {.nodes = 4}).source, "host name");
  EXPECT_TRUE(says(complaint({{}, "cifar-node-0-3", {}, true}, {.nodes = 2}),
                   "host name index 3 >= --nodes 2"));
}

TEST(Identity, ANumberIsDigitsAlone) {
  for (const char* wrong : {"1 ", " 1", "1\n", "+1", "-1", "0x1", "1.0", "99999999999"})
    for (const char* local : {"0", ""}) {
      const std::string message =
          complaint({{{"RANK", wrong}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", local}}});
      EXPECT_TRUE(says(message, "RANK '")) << wrong;
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
}

}  // namespace
}  // namespace annulus
