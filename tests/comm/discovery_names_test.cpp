// What the workers of a job are called, from one pod's own name.
#include "comm/discovery_names.h"

#include <gtest/gtest.h>

#include "kernels/check.h"

namespace annulus {
namespace {

using Pattern = PodName::Pattern;
using Names = std::vector<std::string>;

const ClusterNames kCluster{"ml", "cluster.local"};

WorkerNames names_of(const PodName& pod, int index, std::optional<Endpoint> first = {}) {
  NodeIdentity node;
  node.index = index;
  node.pod = pod;
  node.first = std::move(first);
  node.source = "RANK";
  return {node, kCluster};
}

TEST(WorkerNames, OneJobOfManyCompletions) {
  const WorkerNames names = names_of({.job = "cifar", .index = 1}, 1);
  EXPECT_EQ(names.of(2), "cifar-node-0-2.cifar.ml.svc.cluster.local");
  EXPECT_EQ(names.of_first(), Names({"cifar-node-0-0.cifar.ml.svc.cluster.local"}));
  EXPECT_FALSE(names.ambiguous());
}

TEST(WorkerNames, ManyJobsOfOneCompletion) {
  const WorkerNames names = names_of({.job = "cifar", .pattern = Pattern::replica, .index = 1}, 1);
  EXPECT_EQ(names.of(2), "cifar-node-2-0.cifar.ml.svc.cluster.local");
}

TEST(WorkerNames, WorkerZeroFitsBothPatterns) {
  WorkerNames names = names_of({.job = "cifar", .index = 0}, 0);
  EXPECT_TRUE(names.ambiguous());
  EXPECT_EQ(names.of(1), "cifar-node-0-1.cifar.ml.svc.cluster.local");
  EXPECT_EQ(names.in_other_pattern(1), "cifar-node-1-0.cifar.ml.svc.cluster.local");
  names.take_other_pattern();
  EXPECT_EQ(names.of(1), "cifar-node-1-0.cifar.ml.svc.cluster.local");
  EXPECT_EQ(names.of(0), "cifar-node-0-0.cifar.ml.svc.cluster.local");
}

TEST(WorkerNames, OperatorsNameByRole) {
  const WorkerNames names =
      names_of({.job = "cifar", .pattern = Pattern::role, .role = "worker", .index = 1}, 1);
  EXPECT_EQ(names.of(0), "cifar-worker-0.ml.svc.cluster.local");
  EXPECT_EQ(names.of(12), "cifar-worker-12.ml.svc.cluster.local");
}

TEST(WorkerNames, AMasterStandsInFrontOfTheWorkers) {
  const Endpoint master{"cifar-master-0", 23456};
  const WorkerNames of_worker =
      names_of({.job = "cifar", .pattern = Pattern::role, .role = "worker", .index = 0}, 1, master);
  const WorkerNames of_master =
      names_of({.job = "cifar", .pattern = Pattern::role, .role = "master", .index = 0}, 0, master);
  for (const WorkerNames& names : {of_worker, of_master}) {
    EXPECT_EQ(names.of(0), "cifar-master-0.ml.svc.cluster.local");
    EXPECT_EQ(names.of(1), "cifar-worker-0.ml.svc.cluster.local");
    EXPECT_EQ(names.of(2), "cifar-worker-1.ml.svc.cluster.local");
    EXPECT_EQ(names.of_first(), Names({"cifar-master-0.ml.svc.cluster.local", "cifar-master-0"}));
  }
}

TEST(WorkerNames, AFirstWorkerThatIsNumericIsItself) {
  const PodName pod{.job = "cifar", .index = 1};
  EXPECT_EQ(names_of(pod, 1, Endpoint{"10.0.0.1", 1}).of_first(), Names({"10.0.0.1"}));
  EXPECT_EQ(names_of(pod, 1, Endpoint{"fd00::1", 1}).of_first(), Names({"fd00::1"}));
}

TEST(WorkerNames, AnIndexThatIsNotThePodsIsRefused) {
  try {
    names_of({.job = "cifar", .index = 1}, 3);
    ADD_FAILURE() << "taken";
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_STREQ(error.what(),
                 "RANK says index 3, but the host name cifar-node-0-1 says 1; name all workers "
                 "with --workers host:port,…");
  }
}

TEST(WorkerNames, ALabelAbove63BytesIsRefused) {
  EXPECT_NO_THROW(names_of({.job = std::string(54, 'j'), .index = 0}, 0));
  EXPECT_THROW(names_of({.job = std::string(55, 'j'), .index = 0}, 0), UserError);
  const WorkerNames names = names_of({.job = std::string(54, 'j'), .index = 0}, 0);
  EXPECT_TRUE(names.possible(9));
  EXPECT_FALSE(names.possible(10));
}

TEST(WorkerNames, AreShortInMessages) {
  EXPECT_EQ(short_name("cifar-node-0-2.cifar.ml.svc.cluster.local"), "cifar-node-0-2");
  EXPECT_EQ(short_name("10.0.0.7"), "10.0.0.7");
  EXPECT_EQ(short_name("gpu.rack1.example"), "gpu.rack1.example");
}

}  // namespace
}  // namespace annulus
