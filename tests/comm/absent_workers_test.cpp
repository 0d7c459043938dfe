// What is said of workers that have not registered: DNS's words, looked up aside and seldom.
#include <gtest/gtest.h>

#include "comm/socket.h"
#include "tests/comm/discovery_pods.h"

namespace annulus {
namespace {

using std::chrono::steady_clock;
using test::always;
using test::DnsResponder;
using test::DnsStep;
using test::pod_host;
using test::published;
using test::short_times;
using namespace std::chrono_literals;

Topology pods_topology(int count) {
  Topology topology;
  for (int i = 0; i < count; ++i) topology.workers.push_back({pod_host(i), 12345});
  return topology;
}

// Asks again until the words are these, as the rendezvous does in its progress lines.
std::string wait_for_words(AbsentWorkers& absent, const std::vector<int>& workers,
                           const std::string& words) {
  const Deadline deadline = after(20s);
  std::string said = absent.describe(workers);
  while (said != words && steady_clock::now() < deadline) {
    std::this_thread::sleep_for(10ms);
    said = absent.describe(workers);
  }
  return said;
}

TEST(AbsentWorkers, AreNamedWithTheirAnswers) {
  const DnsResponder dns(
      {{pod_host(1), always(DnsStep::Code::servfail)}, {pod_host(3), published("10.244.0.13")}});
  const auto absent = watch_absent(pods_topology(4), short_times(dns.server()));
  const std::string words =
      "tfd-node-0-1 (SERVFAIL), tfd-node-0-2 (NXDOMAIN), tfd-node-0-3 (10.244.0.13, not "
      "registered)";
  EXPECT_EQ(wait_for_words(*absent, {1, 2, 3}, words), words);
  EXPECT_EQ(dns.questions(pod_host(2)), 1) << "asked once every few seconds";
}

TEST(AbsentWorkers, ThreeAtMostAndTheNumberOfTheRest) {
  const DnsResponder dns({});
  const auto absent = watch_absent(pods_topology(9), short_times(dns.server()));
  const std::string words =
      "tfd-node-0-1 (NXDOMAIN), tfd-node-0-2 (NXDOMAIN), tfd-node-0-3 (NXDOMAIN) and 5 more";
  EXPECT_EQ(wait_for_words(*absent, {1, 2, 3, 4, 5, 6, 7, 8}, words), words);
  EXPECT_EQ(dns.questions(), 3);
}

TEST(AbsentWorkers, NeverWaits) {
  const DnsResponder dns({{"*.cluster.local", always(DnsStep::Code::drop)}});
  const auto absent = watch_absent(pods_topology(4), short_times(dns.server()));
  const auto start = steady_clock::now();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(absent->describe({1, 2}), "tfd-node-0-1, tfd-node-0-2");
  EXPECT_LT(steady_clock::now() - start, 1s);
}

TEST(AbsentWorkers, AddressesAndUnknownHostsAreNotLookedUp) {
  Topology topology;
  topology.workers = {{"10.0.0.1", 12345}, {"127.0.0.1", 12346}, {"", 0}, {"no name", 1}};
  const DnsResponder dns({});
  const auto absent = watch_absent(topology, short_times(dns.server()));
  EXPECT_EQ(absent->describe({0, 1, 2}),
            "10.0.0.1:12345 (not registered), 127.0.0.1:12346 (not registered), worker 2");
  EXPECT_EQ(wait_for_words(*absent, {3}, "no name (NXDOMAIN)"), "no name (NXDOMAIN)");
  EXPECT_EQ(dns.questions(), 0);
}

}  // namespace
}  // namespace annulus
