// Host names of pods: what is read out of them, and those that can be none.
#include "comm/pod_name.h"

#include <gtest/gtest.h>

#include "tests/comm/places.h"

namespace annulus {
namespace {

using test::says;
using Pattern = PodName::Pattern;

PodName pod(const std::string& name) {
  const std::optional<PodName> found = parse_pod_name(name);
  EXPECT_TRUE(found) << name;
  return found.value_or(PodName{});
}

std::string complaint(const std::string& name) {
  return test::message_of([&] { parse_pod_name(name); });
}

TEST(PodName, OfAJobOfManyPods) {
  const PodName name = pod("tf-distributed-training-node-0-12");
  EXPECT_EQ(name.job, "tf-distributed-training");
  EXPECT_EQ(name.pattern, Pattern::completion);
  EXPECT_EQ(name.role, "node");
  EXPECT_EQ(name.index, 12);
  EXPECT_FALSE(name.ambiguous());
  EXPECT_TRUE(pod("tfd-node-0-0").ambiguous());
}

TEST(PodName, OfManyJobsOfOnePod) {
  EXPECT_EQ(pod("tfd-node-3-0").pattern, Pattern::replica);
  EXPECT_EQ(pod("tfd-node-3-0").index, 3);
  EXPECT_TRUE(says(complaint("tfd-node-3-1"), "is pod 1 of job 3"));
}

TEST(PodName, TheLastNodeCounts) {
  EXPECT_EQ(pod("my-node-7-exp-node-0-3").job, "my-node-7-exp");
  EXPECT_EQ(pod("a-node-0-0-node-0-12").job, "a-node-0-0");
  EXPECT_EQ(pod("a-node-0-0-node-0-12").index, 12);
}

TEST(PodName, OfATrainingOperator) {
  for (const char* role : {"worker", "master", "chief", "ps", "evaluator"}) {
    const PodName name = pod(std::string("my-job-") + role + "-10");
    EXPECT_EQ(name.job, "my-job");
    EXPECT_EQ(name.pattern, Pattern::role);
    EXPECT_EQ(name.role, role);
    EXPECT_EQ(name.index, 10);
    EXPECT_FALSE(name.ambiguous());
  }
  EXPECT_EQ(pod("a-node-0-1-worker-2").job, "a-node-0-1");
}

TEST(PodName, OtherNames) {
  for (const char* name : {"", "laptop", "worker-0", "my-worker", "my-worker-x", "my-worker-01",
                           "gpu-node-5", "foo-node-18-app-7c5d4", "homework-worker-", "node-0-1",
                           "mnist-x7x2k", "cifar-launcher-0-0"})
    EXPECT_EQ(parse_pod_name(name).has_value(), false) << name;
}

TEST(PodName, OfThePodInsteadOfItsHost) {
  const std::string words = "not a worker host name (pod name with suffix?)";
  EXPECT_TRUE(says(complaint("pytorch-simple-node-0-0-7lbsc"), words));
  EXPECT_TRUE(says(complaint("tfd-node-0-1-24895"), words));
}

TEST(PodName, NumbersThatAreNone) {
  for (const char* name : {"tfd-node-0--1", "tfd-node-0-", "tfd-node-0-01", "tfd-node-0-1x"})
    EXPECT_TRUE(says(complaint(name), "not a worker host name")) << name;
  for (const char* name :
       {"tfd-node-0-99999999999999999999", "tfd-node-99999999999-0", "tfd-worker-2147483648"})
    EXPECT_TRUE(says(complaint(name), "index out of range")) << name;
}

TEST(PodName, WithoutAJob) {
  EXPECT_TRUE(says(complaint("-node-0-1"), "empty job name"));
  EXPECT_TRUE(says(complaint("-worker-1"), "empty job name"));
}

TEST(PodName, CutAt63Characters) {
  for (const std::string end : {"-no", "-node", "-node-", "-node-0", "-node-0-"})
    EXPECT_TRUE(says(complaint(std::string(63 - end.size(), 'x') + end), "not a worker host name"))
        << end;
  EXPECT_TRUE(says(complaint(std::string(60, 'x') + "-no"), "63 characters: probably cut"));
  EXPECT_EQ(complaint(std::string(59, 'x') + "-no"), "");
  EXPECT_EQ(complaint(std::string(63, 'x')), "");
}

}  // namespace
}  // namespace annulus
