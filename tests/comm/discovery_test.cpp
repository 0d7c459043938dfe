// Discovery where the number of workers is told: lists without a look-up, a worker that finds
// itself and worker 0, what is said meanwhile, and errors that name what is missing.
#include "comm/discovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "tests/comm/discovery_pods.h"

namespace annulus {
namespace {

using std::chrono::steady_clock;
using test::always;
using test::discovery_error;
using test::DnsResponder;
using test::DnsStep;
using test::pod;
using test::pod_host;
using test::pods_expected;
using test::pods_published;
using test::published;
using test::short_times;
using test::texts;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

NodeIdentity listed(int index, const std::vector<Endpoint>& workers) {
  NodeIdentity node;
  node.index = index;
  node.workers = workers;
  node.task_index = index;
  node.source = "TF_CONFIG";
  return node;
}

std::string list_error(int index, const std::vector<Endpoint>& workers) {
  return discovery_error(listed(index, workers), {}, ExitCode::usage);
}

TEST(DiscoverList, TakesItAsItIsAndFillsPorts) {
  DiscoveryOptions options;
  options.dns_servers = "none, so that a look-up would throw";
  options.port = 2222;
  NodeIdentity node = listed(1, {{"a.svc", 12345}, {"b", 0}, {"fd00::7", 0}});
  node.job = "cifar";
  node.local_ranks = 8;
  const Topology topology = discover(node, options, {});
  EXPECT_EQ(texts(topology.workers), Texts({"a.svc:12345", "b:2222", "[fd00::7]:2222"}));
  EXPECT_EQ(topology.index, 1);
  EXPECT_EQ(topology.local_ranks, 8);
  EXPECT_EQ(topology.job, "cifar");
  EXPECT_FALSE(topology.counted);
  EXPECT_FALSE(topology.chief);
}

TEST(DiscoverList, AChiefStandsInFrontOfTheWorkers) {
  NodeIdentity chief = listed(0, {{"chief", 1}, {"a", 1}, {"b", 1}});
  chief.task_type = "chief";
  NodeIdentity worker = listed(2, chief.workers);
  worker.task_index = 1;
  EXPECT_TRUE(discover(chief, {}, {}).chief);
  EXPECT_TRUE(discover(worker, {}, {}).chief);
}

TEST(DiscoverList, AllOnOneHostIsFine) {
  const NodeIdentity node = listed(0, {{"127.0.0.1", 12345}, {"127.0.0.1", 12346}});
  EXPECT_EQ(discover(node, {}, {}).nodes(), 2);
}

TEST(DiscoverList, RefusesWhatCannotBeRight) {
  EXPECT_EQ(list_error(2, {{"a", 1}, {"b", 1}}),
            "TF_CONFIG: index 2 is not among its 2 workers, 0 to 1");
  EXPECT_EQ(list_error(0, {{"a", 1}, {"a", 1}}),
            "TF_CONFIG names a:1 twice; workers on one host need different ports");
  EXPECT_EQ(list_error(0, {{"10.0.0.7", 1}, {"127.0.0.1", 1}}),
            "TF_CONFIG names worker 1 as 127.0.0.1:1, which every host takes for itself; name it "
            "as the other hosts reach it");
  for (const char* host : {"localhost", "::1", "127.0.1.1"})
    EXPECT_NE(list_error(0, {{host, 1}, {"b", 1}}).find("takes for itself"), std::string::npos);
  for (const char* host : {"", "0.0.0.0", "::"})
    EXPECT_NE(list_error(0, {{host, 1}, {"b", 1}}).find("names no host"), std::string::npos);
  NodeIdentity node = listed(0, {{"a", 1}, {"b", 1}});
  node.nodes = 3;
  EXPECT_EQ(discovery_error(node, {}, ExitCode::usage),
            "TF_CONFIG: 3 nodes, but 2 workers are named");
}

TEST(DiscoverFirst, WithoutNamesWorkerZeroIsEnough) {
  NodeIdentity node;
  node.index = 1;
  node.nodes = 3;
  node.first = Endpoint{"10.0.0.1", 29500};
  node.source = "PET_*";
  EXPECT_EQ(texts(discover(node, {}, {}).workers), Texts({"10.0.0.1:29500", ":0", ":0"}));
  node.index = 3;
  EXPECT_NE(discovery_error(node, {}, ExitCode::usage).find("index 3"), std::string::npos);
}

TEST(DiscoverFirst, OneNodeNeedsNobody) {
  DiscoveryOptions options = short_times("none");
  EXPECT_EQ(texts(discover(pod(0, 1), options, {}).workers), pods_expected(1));
  options.cluster.reset();
  EXPECT_EQ(texts(discover(pod(0, 1), options, {}).workers), Texts({"localhost:12345"}));
}

TEST(DiscoverKnown, AWorkerFindsItselfAndWorkerZero) {
  const DnsResponder dns(pods_published(4));
  for (int index = 0; index < 4; ++index) {
    const Topology topology = discover(pod(index, 4), short_times(dns.server()), {});
    EXPECT_EQ(texts(topology.workers), pods_expected(4));
    EXPECT_EQ(topology.index, index);
    EXPECT_EQ(topology.job, "tfd");
    EXPECT_FALSE(topology.counted);
  }
  EXPECT_EQ(dns.questions(pod_host(3)), 1) << "the others' names are no concern of a worker";
}

TEST(DiscoverKnown, ThePortIsWorkerZerosWhereItIsTold) {
  const DnsResponder dns(pods_published(2));
  DiscoveryOptions options = short_times(dns.server());
  options.port = 2222;
  NodeIdentity node = pod(1, 2);
  node.first = Endpoint{"tfd-node-0-0.tfd", 29500};
  EXPECT_EQ(texts(discover(node, options, {}).workers),
            Texts({pod_host(0) + ":29500", pod_host(1) + ":2222"}));
}

TEST(DiscoverKnown, WhereWorkerZeroIsToldItsNameIsEnough) {
  const DnsResponder dns({{"cifar-master-0.ml.svc.cluster.local", published("10.244.0.10")}});
  NodeIdentity node = pod(1, 2);
  node.first = Endpoint{"cifar-master-0", 23456};
  Texts lines;
  const Topology topology =
      discover(node, short_times(dns.server()), [&](const auto& line) { lines.push_back(line); });
  EXPECT_EQ(texts(topology.workers),
            Texts({"cifar-master-0.ml.svc.cluster.local:23456", pod_host(1) + ":12345"}));
  EXPECT_EQ(lines, Texts({"discovery: own name " + pod_host(1) +
                          ": NXDOMAIN; going on, as worker 0 is found"}));
}

TEST(DiscoverKnown, WaitsForItsOwnNameBeforeWorkerZeros) {
  const DnsResponder dns({{pod_host(0), published("10.244.0.10", 600ms)},
                          {pod_host(1), published("10.244.0.11", 300ms)}});
  const auto start = steady_clock::now();
  EXPECT_EQ(discover(pod(1, 2), short_times(dns.server()), {}).nodes(), 2);
  EXPECT_GE(steady_clock::now() - start, 600ms);
  EXPECT_LT(dns.questions(pod_host(0)), dns.questions(pod_host(1)) + 3);
}

TEST(DiscoverKnown, ManyWorkersWhoseNamesComeOneByOne) {
  const int workers = 12;
  test::DnsZone zone;
  for (int i = 0; i < workers; ++i)
    zone[pod_host(i)] = published("10.244.0.10", (workers - i) * 100ms);
  const DnsResponder dns(zone);
  std::vector<std::future<Topology>> pods;
  for (int index = 0; index < workers; ++index)
    pods.push_back(std::async(std::launch::async, [&dns, index, workers] {
      return discover(pod(index, workers), short_times(dns.server()), {});
    }));
  for (auto& found : pods) EXPECT_EQ(texts(found.get().workers), pods_expected(workers));
}

TEST(DiscoverKnown, SaysWhatIsAwaited) {
  DnsResponder dns(
      {{pod_host(1), published("127.0.0.1")}, {pod_host(0), always(DnsStep::Code::refused)}});
  Texts lines;
  const auto progress = [&](const std::string& line) {
    lines.push_back(line);
    dns.publish(pod_host(0), published("10.244.0.10"));
  };
  discover(pod(1, 2), short_times(dns.server()), progress);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("discovery: waiting for tfd-node-0-0 (REFUSED) after "))
      << lines[0];
}

TEST(DiscoverKnown, NotesAnOwnNameThatLeadsElsewhere) {
  const DnsResponder dns(pods_published(2));
  Texts lines;
  discover(pod(0, 2), short_times(dns.server()), [&](const auto& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "discovery: " + pod_host(0) +
                          " resolves to 10.244.0.0, which is no address of this host: a record of "
                          "an earlier pod, or hostNetwork; the others may not reach it");
}

TEST(DiscoverKnown, TheDeadlineNamesWhatIsMissing) {
  const DnsResponder dns({{pod_host(1), published("127.0.0.1")},
                          {pod_host(2), always(DnsStep::Code::servfail)},
                          {pod_host(3), always(DnsStep::Code::drop)}});
  DiscoveryOptions options = short_times(dns.server());
  options.timeout = 1s;
  const auto start = steady_clock::now();
  const std::string own = discovery_error(pod(4, 5), options, ExitCode::rendezvous);
  EXPECT_EQ(own, "discovery: own name " + pod_host(4) +
                     ": NXDOMAIN after 1 s; is the headless service there, with "
                     "publishNotReadyAddresses?");
  EXPECT_GE(steady_clock::now() - start, 1s);
  EXPECT_LT(steady_clock::now() - start, 3s);
  EXPECT_EQ(discovery_error(pod(1, 5), options, ExitCode::rendezvous),
            "discovery: worker 0 " + pod_host(0) + ": NXDOMAIN after 1 s; has its pod started?");
  EXPECT_NE(discovery_error(pod(2, 5), options, ExitCode::rendezvous)
                .find("SERVFAIL after 1 s; is the cluster's DNS up"),
            std::string::npos);
  EXPECT_NE(discovery_error(pod(3, 5), options, ExitCode::rendezvous).find("no answer"),
            std::string::npos);
}

TEST(DiscoverKnown, WorkerZeroLearnsTheOtherPattern) {
  const DnsResponder dns({{"tfd-node-0-0.tfd.ml.svc.cluster.local", published("10.244.0.10")},
                          {"tfd-node-1-0.tfd.ml.svc.cluster.local", published("10.244.0.11")}});
  EXPECT_EQ(discover(pod(0, 3), short_times(dns.server()), {}).workers[2].host,
            "tfd-node-2-0.tfd.ml.svc.cluster.local");
}

TEST(DiscoverKnown, NeedsAClusterOrAList) {
  DiscoveryOptions options;
  const std::string words = discovery_error(pod(0, 2), options, ExitCode::usage);
  for (const char* part : {"/etc/resolv.conf", "--workers", "--namespace", "--cluster-domain"})
    EXPECT_NE(words.find(part), std::string::npos) << words;
  NodeIdentity nobody;
  nobody.nodes = 2;
  nobody.source = "--nodes";
  EXPECT_NE(discovery_error(nobody, options, ExitCode::usage).find("--workers"), std::string::npos);
}

TEST(DiscoverKnown, ALabelThatIsTooLongIsFatalAtOnce) {
  NodeIdentity node = pod(0, 2);
  node.pod->job = std::string(60, 'j');
  const auto start = steady_clock::now();
  const std::string words = discovery_error(node, short_times("127.0.0.1:1"), ExitCode::usage);
  EXPECT_NE(words.find("has 69 bytes, DNS allows 63"), std::string::npos) << words;
  EXPECT_LT(steady_clock::now() - start, 1s);
}

}  // namespace
}  // namespace annulus
