// The body of a POST to a TrainJob's status, against what its CRD takes, whatever the numbers are.
#include "engine/observe/status_body.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/observe/status_reporter.h"

namespace annulus {
namespace {

using Json = nlohmann::json;

const std::chrono::system_clock::time_point kNow{std::chrono::milliseconds(1767323045678)};

RunSnapshot halfway() {
  RunSnapshot run;
  run.stage = RunSnapshot::Stage::training;
  run.updates = 91;
  run.planned_updates = 200;
  run.epochs = 3;
  run.loss = 0.8123456;
  run.accuracy = 0.7;
  run.images_per_second = 12345.678;
  run.seconds_left = 119.2;
  EpochMetrics last;
  last.epoch = 3;
  last.validation = {10000, 1e-5, 0.5};
  last.learning_rate = 7.53e-05;
  last.overlap = OverlapReport{.steps = 5, .overlap = 0.93, .exposed = 0.41, .step = 140};
  run.last = last;
  return run;
}

// The status, after the checks of the CRD's schema.
Json status_of(const RunSnapshot& run) {
  const std::string body = status_body(run, kNow);
  EXPECT_LE(body.size(), 65536u);
  Json status = Json::parse(body).at("trainerStatus");
  EXPECT_TRUE(status.at("progressPercentage").is_number_integer());
  EXPECT_GE(status["progressPercentage"], 0);
  EXPECT_LE(status["progressPercentage"], 100);
  if (status.contains("estimatedRemainingSeconds")) {
    EXPECT_TRUE(status["estimatedRemainingSeconds"].is_number_integer()) << body;
    EXPECT_GE(status["estimatedRemainingSeconds"], 0);
  }
  EXPECT_LE(status.at("metrics").size(), 256u);
  for (const Json& metric : status["metrics"])
    for (const char* field : {"name", "value"}) {
      const std::string text = metric.at(field);
      EXPECT_GE(text.size(), 1u);
      EXPECT_LE(text.size(), 64u) << text;
    }
  EXPECT_EQ(status.at("lastUpdatedTime"), "2026-01-02T03:04:05Z");
  return status;
}

std::map<std::string, std::string> metrics_of(const RunSnapshot& run) {
  std::map<std::string, std::string> metrics;
  const Json status = status_of(run);
  for (const Json& metric : status["metrics"])
    EXPECT_TRUE(metrics.emplace(metric["name"], metric["value"]).second) << metric;
  return metrics;
}

TEST(StatusBody, SaysAllOfARunThatIsOnItsWay) {
  const Json status = status_of(halfway());
  EXPECT_EQ(status["progressPercentage"], 45);
  EXPECT_EQ(status["estimatedRemainingSeconds"], 120);
  const std::map<std::string, std::string> expected{{"epoch", "3"},
                                                    {"updates", "91"},
                                                    {"loss", "0.812346"},
                                                    {"accuracy", "0.7"},
                                                    {"images_per_sec", "12345.7"},
                                                    {"val_loss", "0.00001"},
                                                    {"val_accuracy", "0.5"},
                                                    {"learning_rate", "0.0000753"},
                                                    {"step_ms", "140"},
                                                    {"overlap", "0.93"},
                                                    {"exposed_ms", "0.41"},
                                                    {"waiting_ms", "0"}};
  EXPECT_EQ(metrics_of(halfway()), expected);
}

TEST(StatusBody, BeforeTheFirstStep) {
  RunSnapshot run;
  run.stage = RunSnapshot::Stage::training;
  run.planned_updates = 200;
  const Json status = status_of(run);
  EXPECT_EQ(status["progressPercentage"], 0);
  EXPECT_FALSE(status.contains("estimatedRemainingSeconds"));
  EXPECT_EQ(metrics_of(run).count("loss"), 0u);
}

TEST(StatusBody, OnlyARunThatHasFinishedIsAtAHundred) {
  RunSnapshot run = halfway();
  run.updates = run.planned_updates;
  EXPECT_EQ(status_of(run)["progressPercentage"], 99);
  run.stage = RunSnapshot::Stage::finished;
  EXPECT_EQ(status_of(run)["progressPercentage"], 100);
}

TEST(StatusBody, NumbersThatHaveNoShortFormAreLeftOut) {
  RunSnapshot run = halfway();
  run.loss = std::numeric_limits<double>::quiet_NaN();
  run.accuracy = std::numeric_limits<double>::infinity();
  run.images_per_second = 1e300;
  run.last->validation.loss = 1e-200;
  run.seconds_left = 1e30;
  const auto metrics = metrics_of(run);
  for (const char* name : {"loss", "accuracy", "images_per_sec", "val_loss"})
    EXPECT_EQ(metrics.count(name), 0u) << name;
  EXPECT_EQ(status_of(run)["estimatedRemainingSeconds"], std::numeric_limits<std::int32_t>::max());
}

// What the controller sets, and what is wrong with it.
class Environments : public testing::Test {
 protected:
  std::optional<StatusServer> read(const std::map<std::string, std::string>& variables) {
    warnings_.clear();
    return status_server_of(
        [&](const char* name) {
          const auto found = variables.find(name);
          return found == variables.end() ? nullptr : found->second.c_str();
        },
        [this](const std::string& line) { warnings_.push_back(line); });
  }

  std::vector<std::string> warnings_;
};

TEST_F(Environments, AllThreeMakeAServer) {
  const auto server = read({{"KUBEFLOW_TRAINER_SERVER_URL", "https://manager.svc:10443/status"},
                            {"KUBEFLOW_TRAINER_SERVER_CA_CERT", "/ca.crt"},
                            {"KUBEFLOW_TRAINER_SERVER_TOKEN", "/token"}});
  ASSERT_TRUE(server);
  EXPECT_EQ(server->url, "https://manager.svc:10443/status");
  EXPECT_EQ(server->ca_file, "/ca.crt");
  EXPECT_EQ(server->token_file, "/token");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(Environments, NoneIsNoServer) {
  EXPECT_FALSE(read({}));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(Environments, HalfOfThemIsSaid) {
  EXPECT_FALSE(read({{"KUBEFLOW_TRAINER_SERVER_URL", "https://manager.svc"}}));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("KUBEFLOW_TRAINER_SERVER_CA_CERT is not set"), std::string::npos)
      << warnings_[0];
}

TEST_F(Environments, ATokenIsNotSentInTheOpen) {
  EXPECT_FALSE(read({{"KUBEFLOW_TRAINER_SERVER_URL", "http://me:secret@manager.svc:10443/status"},
                     {"KUBEFLOW_TRAINER_SERVER_CA_CERT", "/ca.crt"},
                     {"KUBEFLOW_TRAINER_SERVER_TOKEN", "/token"}}));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("'http://manager.svc:10443/status' is not https"), std::string::npos)
      << warnings_[0];
}

}  // namespace
}  // namespace annulus
