// The public DNS cases (zones.json: D01 to D13 of cases.md), a second of theirs made a twentieth:
// each with its own expectation, the questions of every round counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>

#include "tests/case_files.h"
#include "tests/comm/discovery_pods.h"
#include "tests/dns/zone_file.h"

namespace annulus {
namespace {

using std::chrono::steady_clock;
using test::DnsResponder;
using test::DnsZone;
using test::texts;
using namespace std::chrono_literals;

constexpr double scale = 0.05;
constexpr auto scaled_second = 50ms;

NodeIdentity pod_of(const nlohmann::json& scenario) {
  const int index = scenario["self_index"];
  std::optional<int> nodes;
  if (!scenario["num_nodes"].is_null()) nodes = scenario["num_nodes"].get<int>();
  NodeIdentity node = test::pod(index, nodes);
  node.pod->job = scenario["job"];
  return node;
}

DiscoveryOptions options_of(const nlohmann::json& scenario, const DnsResponder& dns) {
  DiscoveryOptions options;
  options.timeout = 30s;
  options.settle = 5 * scaled_second;
  options.dns_servers = dns.server();
  ResolvConf conf;
  conf.search = scenario["search"].get<std::vector<std::string>>();
  options.cluster = conf.cluster();
  return options;
}

// The indices among the names that were asked about.
std::vector<int> indices_asked(const DnsResponder& dns, const std::string& job) {
  std::vector<int> indices;
  const std::string prefix = job + "-node-0-";
  for (const std::string& name : dns.names_asked())
    if (name.starts_with(prefix)) indices.push_back(std::stoi(name.substr(prefix.size())));
  return indices;
}

class DnsCase : public testing::TestWithParam<const char*> {};

TEST_P(DnsCase, EndsAsItMust) {
  const auto scenarios = test::case_file("zones.json");
  if (!scenarios) GTEST_SKIP() << "skipped: no ../shared";
  const auto found = std::ranges::find_if(
      *scenarios, [](const nlohmann::json& entry) { return entry["id"] == GetParam(); });
  ASSERT_NE(found, scenarios->end());
  const nlohmann::json& scenario = *found;
  const nlohmann::json& expect = scenario["expect"];
  const DnsResponder dns(test::zone_of(scenario, scale));
  const auto start = steady_clock::now();
  const Topology topology = discover(pod_of(scenario), options_of(scenario, dns), {});
  const auto took = steady_clock::now() - start;

  EXPECT_EQ(topology.nodes(), expect["workers"]);
  EXPECT_GE(took, expect.value("settled_after_s", 0) * scaled_second);
  const int least_unasked = expect.contains("queries_for_index_3_and_up") ? 3 : INT_MAX;
  for (const int index : indices_asked(dns, scenario["job"])) EXPECT_LT(index, least_unasked);
  const std::string suffix = expect.value("address_suffix", ":12345");
  for (const std::string& worker : texts(topology.workers))
    EXPECT_TRUE(worker.ends_with(suffix)) << worker;
  EXPECT_EQ(topology.counted, scenario["num_nodes"].is_null());
  for (const Endpoint& worker : topology.workers) EXPECT_FALSE(worker.host.ends_with('.'));
}

INSTANTIATE_TEST_SUITE_P(Zones, DnsCase,
                         testing::Values("delay30", "partial_then_full", "flapping",
                                         "wildcard_search", "other_cluster_domain",
                                         "dual_stack_dead_v6", "stale_then_new",
                                         "two_addresses_one_name", "nodata_end"),
                         [](const auto& parameter) { return std::string(parameter.param); });

// The third worker comes long after the count has held: worker 0 may settle on 2, and says that it
// counted, so that the third one's coming is an error of the run and no second ring.
TEST(DnsCases, AWorkerThatComesLateIsNotMissedSilently) {
  const auto scenarios = test::case_file("zones.json");
  if (!scenarios) GTEST_SKIP() << "skipped: no ../shared";
  const auto found = std::ranges::find_if(
      *scenarios, [](const nlohmann::json& entry) { return entry["id"] == "partial_no_hint"; });
  ASSERT_NE(found, scenarios->end());
  const DnsResponder dns(test::zone_of(*found, scale));
  const Topology early = discover(pod_of(*found), options_of(*found, dns), {});
  EXPECT_TRUE(early.counted);
  EXPECT_EQ(early.nodes(), 2);
  NodeIdentity late = pod_of(*found);
  late.index = late.pod->index = 2;
  const Topology third = discover(late, options_of(*found, dns), {});
  EXPECT_EQ(third.nodes(), 3);
  EXPECT_NE(third.nodes(), early.nodes()) << "which the rendezvous refuses on every rank";
}

}  // namespace
}  // namespace annulus
