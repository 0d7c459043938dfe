// TF_CONFIG: what it says, and each way in which it can be wrong.
#include "comm/tf_config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/case_files.h"
#include "tests/comm/places.h"

namespace annulus {
namespace {

using nlohmann::json;
using test::says;

std::string complaint(const std::string& text) {
  return test::message_of([&] { parse_tf_config(text); });
}

// `cluster` and `task` as JSON.
std::string text(const std::string& cluster, const std::string& task) {
  return R"({"cluster": )" + cluster + R"(, "task": )" + task + "}";
}

const std::string kWorker0 = R"({"type": "worker", "index": 0})";

TEST(TfConfig, Workers) {
  const TfConfig config = parse_tf_config(
      text(R"({"worker": ["h0:12345", "[fd00::7]:12345"]})", R"({"type": "worker", "index": 1})"));
  EXPECT_EQ(config.workers, (std::vector<Endpoint>{{"h0", 12345}, {"fd00::7", 12345}}));
  EXPECT_FALSE(config.chief);
  EXPECT_EQ(config.index, 1);
  EXPECT_EQ(config.task_type, "worker");
  EXPECT_EQ(config.task_index, 1);
}

TEST(TfConfig, AChiefIsTheFirst) {
  for (const std::string chief : {"chief", "master"}) {
    const std::string cluster = R"({"worker": ["w0:1", "w1:1"], ")" + chief +
                                R"(": ["c:1"], "ps": ["p:1"], "evaluator": ["e:1"]})";
    const TfConfig worker = parse_tf_config(text(cluster, R"({"type": "worker", "index": 1})"));
    EXPECT_EQ(worker.workers, (std::vector<Endpoint>{{"c", 1}, {"w0", 1}, {"w1", 1}}));
    EXPECT_TRUE(worker.chief);
    EXPECT_EQ(worker.index, 2);
    EXPECT_EQ(worker.task_index, 1);
    const TfConfig first =
        parse_tf_config(text(cluster, R"({"type": ")" + chief + R"(", "index": 0})"));
    EXPECT_EQ(first.index, 0);
    EXPECT_EQ(first.task_type, "chief");
  }
}

TEST(TfConfig, AnEvaluatorNeedsNoCluster) {
  for (const char* cluster : {R"({"worker": ["h:1"]})", R"({"evaluator": ["e:1"]})"})
    EXPECT_EQ(parse_tf_config(text(cluster, R"({"type": "evaluator", "index": 0})")).task_type,
              "evaluator");
}

TEST(TfConfig, BadJsonIsNamedByItsOffset) {
  EXPECT_TRUE(says(complaint("{'cluster': 1}"), "offset 1 "));
  EXPECT_TRUE(says(complaint(""), "offset 0 "));
  EXPECT_TRUE(says(complaint("{"), "offset 1 "));
  EXPECT_TRUE(says(complaint(R"({"a": 1} x)"), "offset 9 "));
  EXPECT_TRUE(says(complaint("{\"a\": \"\xff\"}"), "offset 7 "));
  EXPECT_TRUE(says(complaint(R"({"a": 1e999})"), "too large"));
}

TEST(TfConfig, PartsThatAreMissing) {
  const std::string cluster = R"({"worker": ["h0:1", "h1:1"]})";
  EXPECT_TRUE(says(complaint("{}"), "cluster missing"));
  EXPECT_TRUE(says(complaint("[]"), "no JSON object"));
  EXPECT_TRUE(says(complaint(R"({"cluster": [], "task": {}})"), "cluster is no object"));
  EXPECT_TRUE(says(complaint(R"({"cluster": {}})"), "task missing"));
  EXPECT_TRUE(says(complaint(text(cluster, "1")), "task is no object"));
  EXPECT_TRUE(says(complaint(text(cluster, R"({"index": 0})")), "task.type missing"));
  EXPECT_TRUE(says(complaint(text(cluster, R"({"type": "worker"})")), "task.index missing"));
  EXPECT_TRUE(says(complaint(text(cluster, R"({"type": 1, "index": 0})")), "task.type"));
}

TEST(TfConfig, AnIndexOutsideItsList) {
  const std::string cluster = R"({"chief": ["c:1"], "worker": ["h0:1", "h1:1"]})";
  const auto index = [&](const char* type, const char* value) {
    return complaint(
        text(cluster, std::string(R"({"type": ")") + type + R"(", "index": )" + value + "}"));
  };
  EXPECT_TRUE(says(index("worker", "2"), "index 2, 2 workers"));
  EXPECT_TRUE(says(index("worker", "-1"), "index -1"));
  EXPECT_TRUE(says(index("worker", "18446744073709551615"), "index 18446744073709551615"));
  EXPECT_TRUE(says(index("chief", "1"), "index 1, 1 chiefs"));
  for (const char* wrong : {"\"1\"", "1.0", "true", "null", "[]"})
    EXPECT_TRUE(says(index("worker", wrong), "task.index is no whole number")) << wrong;
}

TEST(TfConfig, KeysThatAreNotKnownAreListed) {
  EXPECT_TRUE(says(complaint(text(R"({"ps_hosts": ["p:1"], "worker_hosts": ["w:1"]})", kWorker0)),
                   "worker not in cluster (has: ps_hosts, worker_hosts)"));
  EXPECT_TRUE(says(complaint(text(R"({"worker": ["h:1"], "trainer": ["t:1"]})", kWorker0)),
                   "cluster has 'trainer'"));
  EXPECT_TRUE(says(complaint(text("{}", kWorker0)), "worker not in cluster (has: nothing)"));
}

TEST(TfConfig, AKeyTwiceIsTwoClusters) {
  EXPECT_TRUE(says(complaint(text(R"({"worker": ["a:1"], "worker": ["b:1"]})", kWorker0)),
                   "the key 'worker' twice"));
  EXPECT_EQ(
      complaint(text(R"({"worker": ["a:1"]})", R"({"type": "worker", "index": 0, "cluster": 1})")),
      "")
      << "in another object it is another key";
}

TEST(TfConfig, TasksThatTrainNothing) {
  EXPECT_TRUE(says(
      complaint(text(R"({"ps": ["p:1"], "worker": ["w:1"]})", R"({"type": "ps", "index": 0})")),
      "ps is not supported"));
}

TEST(TfConfig, FormsThatDoNotSayHowMany) {
  const std::string words = "world size not in TF_CONFIG";
  EXPECT_TRUE(says(complaint(text(R"({"worker": {"1": "w:1"}, "ps": ["p:1"]})",
                                  R"({"type": "worker", "index": 1})")),
                   words));
  EXPECT_TRUE(says(complaint(text(R"({"chief": ["c:1"], "worker": {}, "ps": []})",
                                  R"({"type": "chief", "index": 0})")),
                   words));
  EXPECT_TRUE(says(complaint(R"({"sparseCluster": {}, "task": {}})"), words));
}

TEST(TfConfig, AddressesThatAreNone) {
  for (const char* wrong : {R"("h0")", R"("h0:0")", R"("h 0:1")", R"("h0:1\n")", "1", "null"})
    EXPECT_NE(complaint(text(std::string(R"({"worker": [)") + wrong + "]}", kWorker0)), "")
        << wrong;
  EXPECT_TRUE(says(complaint(text(R"({"worker": ["h:1", "h:1"]})", kWorker0)), "h:1 twice"));
  EXPECT_TRUE(says(complaint(text(R"({"worker": "h:1"})", kWorker0)), "cluster.worker is no list"));
  EXPECT_TRUE(says(complaint(text(R"({"chief": ["a:1", "b:1"], "worker": ["h:1"]})", kWorker0)),
                   "2 chiefs"));
  EXPECT_TRUE(
      says(complaint(text(R"({"chief": ["a:1"], "master": ["b:1"], "worker": ["h:1"]})", kWorker0)),
           "a chief and a master"));
}

TEST(TfConfig, IsBounded) {
  EXPECT_TRUE(says(complaint(std::string(100'000, '[')), "nested deeper"));
  EXPECT_TRUE(says(complaint(std::string((1U << 20) + 1, ' ')), "too many"));
}

bool meets(const json& expected, const std::string& config_text) {
  const std::string message = complaint(config_text);
  if (expected.contains("error")) {
    const bool offset =
        !expected.contains("offset") || says(message, "offset " + expected["offset"].dump() + " ");
    return offset && says(message, expected["error"]);
  }
  if (!message.empty()) return false;
  const TfConfig config = parse_tf_config(config_text);
  return config.index == expected["rank"] && config.workers.size() == expected["world"] &&
         config.workers.front().text() == expected.value("rank0", config.workers.front().text());
}

TEST(TfConfig, ReferenceRows) {
  const std::vector<json> rows = test::case_lines("tf_config.jsonl");
  if (rows.empty()) GTEST_SKIP();
  EXPECT_EQ(rows.size(), 13U);
  for (const json& row : rows) {
    const json& expected = row["expect"];
    const json choices = expected.contains("either") ? expected["either"] : json::array({expected});
    EXPECT_TRUE(std::any_of(choices.begin(), choices.end(),
                            [&](const json& choice) { return meets(choice, row["TF_CONFIG"]); }))
        << row << "\ncomplaint: " << complaint(row["TF_CONFIG"]);
  }
}

}  // namespace
}  // namespace annulus
