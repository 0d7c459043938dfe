// Discovery where nobody tells the number of workers: what a round asks, holes and failures that
// are no end, numbers that must hold, and many workers at once.
#include "comm/discovery_count.h"

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
using test::DnsZone;
using test::pod;
using test::pod_host;
using test::pods_expected;
using test::pods_published;
using test::published;
using test::short_times;
using test::texts;
using namespace std::chrono_literals;
using Code = DnsStep::Code;

const ClusterNames kCluster{"ml", "cluster.local"};

// One round of a worker against a zone.
struct Round {
  WorkerCount count;
  std::size_t questions;
};

Round round_of(const DnsResponder& dns, int own, int expected = 0) {
  Resolver resolver(dns.server());
  WorkerNames names(pod(own, std::nullopt), kCluster);
  const WorkerCount count = CountingRound(resolver, names, own, after(20s)).run(expected, 0);
  return {count, resolver.questions()};
}

TEST(CountingRound, CountsWhoeverAsks) {
  for (const int workers : {1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 33}) {
    const DnsResponder dns(pods_published(workers));
    for (int own = 0; own < workers; ++own) {
      const Round round = round_of(dns, own);
      ASSERT_EQ(round.count.workers, workers) << "worker " << own;
      EXPECT_LE(round.questions, 40u);
    }
  }
}

TEST(CountingRound, FortyQuestionsAreEnoughForThousands) {
  const DnsResponder dns(pods_published(5000));
  for (const int own : {0, 1, 777, 2500, 4998, 4999})
    for (const int expected : {0, 2, 4999, 5000, 5001, 9999}) {
      const Round round = round_of(dns, own, expected);
      EXPECT_EQ(round.count.workers, 5000) << own << " expecting " << expected;
      EXPECT_LE(round.questions, 40u) << own << " expecting " << expected;
    }
}

TEST(CountingRound, TheEndIsNamedWithItsAnswer) {
  DnsZone zone = pods_published(2);
  zone[pod_host(2)] = always(Code::no_data);
  const DnsResponder dns(zone);
  const WorkerCount count = round_of(dns, 0).count;
  EXPECT_EQ(count.workers, 2);
  EXPECT_EQ(count.missing, 2);
  EXPECT_STREQ(count.answer.words(), "no address");
}

TEST(CountingRound, AFailureIsNoEnd) {
  for (const Code code : {Code::servfail, Code::refused}) {
    DnsZone zone = pods_published(4);
    zone[pod_host(2)] = always(code);
    const DnsResponder dns(zone);
    const WorkerCount count = round_of(dns, 0).count;
    EXPECT_FALSE(count.workers);
    EXPECT_EQ(count.missing, 2);
  }
}

TEST(CountingRound, AHoleBelowIsNoNumber) {
  DnsZone zone = pods_published(8);
  zone.erase(pod_host(3));
  const DnsResponder dns(zone);
  const WorkerCount count = round_of(dns, 6).count;
  EXPECT_FALSE(count.workers);
  EXPECT_EQ(count.missing, 3);
}

TEST(CountingRound, WithoutItselfOrWorkerZeroThereIsNoNumber) {
  DnsZone zone = pods_published(4);
  zone.erase(pod_host(0));
  const DnsResponder dns(zone);
  EXPECT_EQ(round_of(dns, 2).count.missing, 0);
  EXPECT_EQ(round_of(dns, 7).count.missing, 7);
}

TEST(CountingRound, AnIndexWhoseDigitsDoNotFitIsTheEnd) {
  const std::string job(54, 'j');
  DnsZone zone;
  for (int i = 0; i < 10; ++i)
    zone[fmt::format("{0}-node-0-{1}.{0}.ml.svc.cluster.local", job, i)] = published("10.0.0.1");
  const DnsResponder dns(zone);
  NodeIdentity node = pod(0, std::nullopt);
  node.pod->job = job;
  Resolver resolver(dns.server());
  WorkerNames names(node, kCluster);
  EXPECT_EQ(CountingRound(resolver, names, 0, after(20s)).run(0, 0).workers, 10);
}

TEST(CountWorkers, EveryWorkerFindsTheSameNumber) {
  constexpr int workers = 24;
  const DnsResponder dns(pods_published(workers));
  std::vector<std::future<Topology>> pods;
  for (int index = 0; index < workers; ++index)
    pods.push_back(std::async(std::launch::async, [&dns, index] {
      return discover(pod(index, std::nullopt), short_times(dns.server()), {});
    }));
  for (auto& found : pods) {
    const Topology topology = found.get();
    EXPECT_EQ(texts(topology.workers), pods_expected(workers));
    EXPECT_TRUE(topology.counted);
  }
}

TEST(CountWorkers, TheNumberMustHold) {
  DnsResponder dns(pods_published(2));
  std::thread growth([&] {
    std::this_thread::sleep_for(300ms);
    dns.publish(pod_host(2), published("10.244.0.2"));
  });
  DiscoveryOptions options = short_times(dns.server());
  options.settle = 1500ms;
  const auto start = steady_clock::now();
  EXPECT_EQ(discover(pod(0, std::nullopt), options, {}).nodes(), 3);
  EXPECT_GE(steady_clock::now() - start, 1800ms);
  growth.join();
}

TEST(CountWorkers, FailuresForAWhileAreWaitedOut) {
  DnsResponder dns(pods_published(2));
  dns.publish(pod_host(2), always(Code::servfail));
  std::thread recovery([&] {
    std::this_thread::sleep_for(1s);
    dns.publish(pod_host(2), published("10.244.0.2"));
  });
  EXPECT_EQ(discover(pod(0, std::nullopt), short_times(dns.server()), {}).nodes(), 3);
  recovery.join();
}

TEST(CountWorkers, AWildcardInTheClustersOwnDomainIsSeen) {
  const DnsResponder dns({{"*.tfd.ml.svc.cluster.local", published("203.0.113.9")}});
  const std::string words =
      discovery_error(pod(0, std::nullopt), short_times(dns.server()), ExitCode::usage);
  EXPECT_NE(words.find("answers for every name"), std::string::npos) << words;
  EXPECT_LE(dns.questions(), 40);
}

TEST(CountWorkers, OneAloneEndsAtTheDeadline) {
  const DnsResponder dns(pods_published(1));
  DiscoveryOptions options = short_times(dns.server());
  options.timeout = 1s;
  EXPECT_EQ(discovery_error(pod(0, std::nullopt), options, ExitCode::rendezvous),
            "discovery: 1 worker after 1 s, of at least 2; the next would be " + pod_host(1) +
                " (NXDOMAIN); if no other is meant to come, say --min-workers 1");
  options.min_workers = 1;
  EXPECT_EQ(discover(pod(0, std::nullopt), options, {}).nodes(), 1);
}

TEST(CountWorkers, TheDeadlineNamesWhatHidesTheNumber) {
  DnsZone zone = pods_published(2);
  zone[pod_host(2)] = always(Code::servfail);
  const DnsResponder dns(zone);
  DiscoveryOptions options = short_times(dns.server());
  options.timeout = 600ms;
  EXPECT_EQ(discovery_error(pod(0, std::nullopt), options, ExitCode::rendezvous),
            "discovery: the number of workers is not known after 1 s: " + pod_host(2) +
                ": SERVFAIL; is the cluster's DNS up, and allowed by the network policies?");
  options.settle = 10s;
  EXPECT_NE(discovery_error(pod(1, std::nullopt), options, ExitCode::rendezvous).find("not known"),
            std::string::npos);
  const DnsResponder calm(pods_published(2));
  options.dns_servers = calm.server();
  EXPECT_NE(discovery_error(pod(1, std::nullopt), options, ExitCode::rendezvous)
                .find("2 workers after 1 s, but the count did not hold; tell it with --nodes"),
            std::string::npos);
}

TEST(CountWorkers, WorkerZeroLearnsTheOtherPattern) {
  DnsZone zone = {{pod_host(0), published("10.244.0.10")}};
  for (int i = 1; i < 4; ++i)
    zone[fmt::format("tfd-node-{}-0.tfd.ml.svc.cluster.local", i)] = published("10.244.0.11");
  const DnsResponder dns(zone);
  const Topology topology = discover(pod(0, std::nullopt), short_times(dns.server()), {});
  ASSERT_EQ(topology.nodes(), 4);
  EXPECT_EQ(topology.workers[3].host, "tfd-node-3-0.tfd.ml.svc.cluster.local");
}

TEST(CountWorkers, SaysHowManyThereAre) {
  DnsResponder dns(pods_published(1));
  std::vector<std::string> lines;
  DiscoveryOptions options = short_times(dns.server());
  discover(pod(0, std::nullopt), options, [&](const std::string& line) {
    if (line.find("1 worker after") != std::string::npos)
      dns.publish(pod_host(1), published("10.244.0.1"));
    lines.push_back(line);
  });
  ASSERT_GE(lines.size(), 3u);
  EXPECT_NE(lines[0].find("no address of this host"), std::string::npos);
  EXPECT_EQ(lines[1].substr(0, 25), "discovery: 1 worker after");
  EXPECT_NE(lines[1].find("waiting for tfd-node-0-1 (NXDOMAIN)"), std::string::npos) << lines[1];
  EXPECT_EQ(lines.back().substr(0, 26), "discovery: 2 workers after");
}

}  // namespace
}  // namespace annulus
