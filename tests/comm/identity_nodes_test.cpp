// Rules between pod launchers, and host names.
#include <gtest/gtest.h>

#include "tests/comm/places.h"

namespace annulus {
namespace {

using test::Around;
using test::complaint;
using test::node;
using test::place;
using test::rank;
using test::says;

const std::string kTfConfig =
    R"({"cluster": {"worker": ["h0:1", "h1:1"]}, "task": {"type": "worker", "index": 0}})";

TEST(Nodes, TfConfigBeatsTheHostName) {
  const NodeIdentity identity = node({{{"TF_CONFIG", kTfConfig}}, "tfd-node-0-1", {}, true});
  EXPECT_EQ(identity.source, "TF_CONFIG");
  EXPECT_EQ(identity.index, 0);
  EXPECT_EQ(identity.workers, (std::vector<Endpoint>{{"h0", 1}, {"h1", 1}}));
  EXPECT_FALSE(identity.pod);
  EXPECT_EQ(identity.note, "TF_CONFIG makes this worker 0; host name tfd-node-0-1 is not asked");
  EXPECT_EQ(node({{{"TF_CONFIG", kTfConfig}}, "cifar-worker-0", {}, true}).note, "");
}

TEST(Nodes, AnEvaluatorHasNoPart) {
  const std::string text = R"({"cluster": {}, "task": {"type": "evaluator", "index": 0}})";
  const Place found = place({{{"TF_CONFIG", text}}, "cifar-evaluator-0", {}, true});
  ASSERT_TRUE(std::holds_alternative<EvaluatorTask>(found));
  EXPECT_EQ(std::get<EvaluatorTask>(found).source, "TF_CONFIG");
}

TEST(Nodes, SourcesOfOneLevelMustAgree) {
  Around around{{{"TF_CONFIG", kTfConfig}, {"PET_NNODES", "2"}, {"PET_NODE_RANK", "1"}}};
  EXPECT_TRUE(says(complaint(around), "TF_CONFIG says node 0 of 2, PET_* says node 1 of 2"));
  around.variables["PET_NODE_RANK"] = "0";
  around.variables["PET_NPROC_PER_NODE"] = "4";
  EXPECT_EQ(node(around).source, "TF_CONFIG");
  EXPECT_EQ(node(around).local_ranks, 4) << "what one does not say the other may";
}

TEST(Nodes, JobSetsHostName) {
  const NodeIdentity identity = node({{{"JOB_COMPLETION_INDEX", "1"}}, "cifar-node-0-1", {}, true});
  EXPECT_EQ(identity.source, "host name");
  EXPECT_EQ(identity.index, 1);
  EXPECT_EQ(identity.nodes, std::nullopt);
  EXPECT_EQ(identity.job, "cifar");
  ASSERT_TRUE(identity.pod);
  EXPECT_EQ(identity.pod->pattern, PodName::Pattern::completion);

  const NodeIdentity replica = node({{{"JOB_COMPLETION_INDEX", "0"}}, "cifar-node-3-0", {}, true});
  EXPECT_EQ(replica.index, 3);
  EXPECT_EQ(replica.pod->pattern, PodName::Pattern::replica);
}

TEST(Nodes, AFullyQualifiedHostNameIsCut) {
  EXPECT_EQ(node({{}, "cifar-node-0-1.cifar.ml.svc.cluster.local", {}, true}).index, 1);
}

TEST(Nodes, HostNameAndCompletionIndexMustAgree) {
  for (const bool in_cluster : {true, false})
    EXPECT_TRUE(says(complaint({{{"JOB_COMPLETION_INDEX", "0"}}, "gpu-node-0-1", {}, in_cluster}),
                     "host name says 1, JOB_COMPLETION_INDEX says 0"));
}

TEST(Nodes, APodNeedsNoSearchDomain) {
  EXPECT_EQ(node({{{"JOB_COMPLETION_INDEX", "1"}}, "cifar-node-0-1"}).index, 1);
  EXPECT_EQ(node({{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}, "cifar-node-0-1"}).index, 1);
}

TEST(Nodes, AMachineMayBeCalledLikeAWorker) {
  const Identity identity = rank({{}, "gpu-node-0-1"});
  EXPECT_TRUE(identity.alone());
  EXPECT_TRUE(says(identity.note, "host name gpu-node-0-1 is like a worker's"));
  EXPECT_EQ(rank({{}, "gpu-node-0-"}).note, "");
  EXPECT_EQ(rank({{}, "laptop"}).note, "");
}

TEST(Nodes, AHostNameThatIsNoneInAPod) {
  EXPECT_TRUE(rank({{}, "mnist-x7x2k", {}, true}).alone());
  EXPECT_TRUE(says(complaint({{}, "tfd-node-0-1-24895", {}, true}), "not a worker host name"));
  EXPECT_TRUE(says(complaint({{{"JOB_COMPLETION_INDEX", "1"}}, "mnist-1", {}, true}),
                   "JOB_COMPLETION_INDEX 1 but host name 'mnist-1'"));
  EXPECT_TRUE(rank({{{"JOB_COMPLETION_INDEX", "0"}}, "mnist-0", {}, true}).alone());
}

TEST(Nodes, AnOperatorsPodWithoutVariablesIsAJobOfOne) {
  EXPECT_TRUE(rank({{}, "cifar-worker-0", {}, true}).alone());
  EXPECT_TRUE(says(rank({{}, "cifar-worker-0", {}, true}).note, "nothing says of other pods"));
  EXPECT_TRUE(says(complaint({{}, "cifar-worker-1", {}, true}), "nothing says of how many"));
  const NodeIdentity identity = node({{}, "cifar-worker-1", {}, true}, {.nodes = 2});
  EXPECT_EQ(identity.index, 1);
  EXPECT_EQ(identity.nodes, 2);
  ASSERT_TRUE(identity.pod);
  EXPECT_EQ(identity.pod->pattern, PodName::Pattern::role);
  EXPECT_EQ(node({{}, "cifar-worker-0", {}, true}, {.nodes = 2}).index, 0);
}

// Each pod believed that it was a job of one, and both wrote the same checkpoint.
TEST(Nodes, AWorldOfOneDoesNotStandOnTwoHosts) {
  Around around{{{"RANK", "0"}, {"WORLD_SIZE", "1"}}, "tfd-node-0-1"};
  for (const bool in_cluster : {true, false}) {
    around.in_cluster = in_cluster;
    EXPECT_TRUE(says(complaint(around), "WORLD_SIZE 1 but host name index 1"));
  }
  around.hostname = "tfd-node-0-0";
  EXPECT_EQ(node(around).nodes, 1);
  const Around by_hand{{{"RANK", "0"}, {"WORLD_SIZE", "2"}}, "gpu-node-0-1"};
  EXPECT_EQ(node(by_hand).index, 0) << "a machine's name says nothing";
}

TEST(Nodes, OperatorsAndHostNameMustAgree) {
  const Around around{{{"PET_NNODES", "2"}, {"PET_NODE_RANK", "0"}}, "tfd-node-0-1", {}, true};
  EXPECT_TRUE(says(complaint(around), "PET_NODE_RANK 0 but host name index 1"));
  const Around role{{{"RANK", "2"}, {"WORLD_SIZE", "3"}}, "cifar-worker-0", {}, true};
  EXPECT_TRUE(says(complaint(role), "RANK 2 but host name index 0"));
}

TEST(Nodes, RendezvousNamesTheFirst) {
  const Around around{{{"PET_NNODES", "2"}, {"PET_NODE_RANK", "0"}}};
  EXPECT_EQ(node(around).first, std::nullopt);
  EXPECT_EQ(node(around, {.rendezvous = "h0:7"}).first, (Endpoint{"h0", 7}));
}

}  // namespace
}  // namespace annulus
