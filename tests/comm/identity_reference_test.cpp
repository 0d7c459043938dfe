// The reference rows of ../shared: launchers' environments, host names, operators' pods.
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/pod_name.h"
#include "tests/case_files.h"
#include "tests/comm/places.h"

namespace annulus {
namespace {

using nlohmann::json;
using test::Around;
using test::complaint;
using test::place;
using test::says;

bool meets_a_rank(const json& expected, const Identity& identity) {
  if (expected.contains("same_as")) return identity.source == "alone";
  return identity.rank == expected["rank"] && identity.world == expected["world"] &&
         identity.local_rank == expected.value("local_rank", 0);
}

bool meets_a_node(const json& expected, const NodeIdentity& node, int devices) {
  if (!node.nodes) return false;
  const bool by_node = expected.contains("node");
  return node.index == expected.value(by_node ? "node" : "rank", -1) &&
         *node.nodes == expected.value(by_node ? "nodes" : "world", -1) &&
         node.local_ranks.value_or(devices) == expected.value("local_world", devices);
}

bool meets(const json& expected, const Around& around) {
  const std::string message = complaint(around);
  if (expected.contains("error"))
    return message.find(expected["error"].get<std::string>()) != std::string::npos;
  if (!message.empty()) return false;
  const Place found = place(around);
  if (const auto* identity = std::get_if<Identity>(&found))
    return meets_a_rank(expected, *identity);
  const auto devices = around.variables.find("visible_gpus");
  return meets_a_node(expected, std::get<NodeIdentity>(found),
                      devices == around.variables.end() ? 1 : std::stoi(devices->second));
}

Around around_of(const json& row) {
  Around around{row["env"].get<test::Texts>(), row.value("hostname", ""), {}, false};
  if (around.variables.count("hostname") != 0) around.hostname = around.variables["hostname"];
  if (row.contains("files")) around.files = row["files"].get<test::Texts>();
  around.in_cluster = !around.hostname.empty();
  return around;
}

TEST(IdentityReference, Environments) {
  const std::vector<json> rows = test::case_lines("env.jsonl");
  if (rows.empty()) GTEST_SKIP();
  EXPECT_EQ(rows.size(), 12U);
  for (const json& row : rows) {
    const json& expected = row["expect"];
    const json choices = expected.contains("either") ? expected["either"] : json::array({expected});
    EXPECT_TRUE(std::any_of(choices.begin(), choices.end(),
                            [&](const json& choice) { return meets(choice, around_of(row)); }))
        << row << "\ncomplaint: " << complaint(around_of(row));
  }
}

TEST(IdentityReference, HostNames) {
  const std::vector<json> rows = test::case_lines("hostnames.jsonl");
  if (rows.empty()) GTEST_SKIP();
  EXPECT_EQ(rows.size(), 14U);
  for (const json& row : rows) {
    const json& expected = row["expect"];
    const Around around = around_of(row);
    if (expected.contains("error")) {
      EXPECT_TRUE(says(complaint(around), expected["error"])) << row;
      continue;
    }
    const std::optional<PodName> pod = parse_pod_name(around.hostname);
    ASSERT_TRUE(pod) << row;
    EXPECT_EQ(pod->index, expected["index"]) << row;
    EXPECT_EQ(pod->job, expected.value("job", pod->job)) << row;
    EXPECT_EQ(pod->role, expected.value("role", "node")) << row;
  }
}

void expect_node(const json& expected, const NodeIdentity& node) {
  EXPECT_EQ(node.index, expected["node_rank"]);
  EXPECT_EQ(node.nodes ? json(*node.nodes) : json(nullptr), expected["nnodes"]);
  const json ranks = node.local_ranks ? json(*node.local_ranks) : json("device count");
  EXPECT_EQ(ranks, expected.value("nproc", ranks));
  const int world = node.nodes.value_or(0) * node.local_ranks.value_or(0);
  EXPECT_EQ(world, expected.value("world", world));
  if (expected.contains("master")) {
    const std::string master = expected["master"];
    ASSERT_TRUE(node.first);
    EXPECT_EQ(node.first->text().find(master.substr(0, master.find(' '))), 0U);
  }
}

void expect_fixture(const json& fixture) {
  const Around around =
      around_of(fixture.contains("env") ? fixture : json{{"env", json::object()}});
  const json expected = fixture.value("expect", json::object());
  const bool mpi = fixture["case"].get<std::string>().find("mpi") != std::string::npos;
  if (mpi || expected.contains("error")) {
    EXPECT_TRUE(says(complaint(around), expected.value("error", "mpirun")));
    return;
  }
  ASSERT_EQ(complaint(around), "");
  const Place found = place(around);
  if (expected.contains("node_rank")) {
    ASSERT_TRUE(std::holds_alternative<NodeIdentity>(found));
    expect_node(expected, std::get<NodeIdentity>(found));
  } else {
    ASSERT_TRUE(std::holds_alternative<Identity>(found));
    EXPECT_TRUE(std::get<Identity>(found).alone());
  }
}

TEST(IdentityReference, OperatorsPods) {
  const std::optional<json> fixtures = test::shared_file("k8s/env_fixtures.json");
  if (!fixtures) GTEST_SKIP();
  EXPECT_EQ(fixtures->size(), 22U);
  for (const json& fixture : *fixtures) {
    SCOPED_TRACE(fixture["case"]);
    expect_fixture(fixture);
  }
}

}  // namespace
}  // namespace annulus
