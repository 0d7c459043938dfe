// The endpoint over real connections: what each page says in each stage of a run, while the run
// goes on, and what becomes of a port that another has.
#include "engine/observe/metrics_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "comm/socket.h"
#include "engine/observe/metrics_page.h"
#include "engine/step.h"
#include "engine/train_plan.h"
#include "tests/engine/free_port.h"

namespace annulus {
namespace {

using namespace std::chrono_literals;

struct Answer {
  int code = 0;
  std::string head, text;
};

Answer ask(int port, const std::string& request) {
  const Socket socket = connect_to("127.0.0.1", static_cast<std::uint16_t>(port), after(30s));
  const std::string words = request + " HTTP/1.1\r\nHost: pod\r\n\r\n";
  socket.send(words.data(), words.size(), after(30s));
  std::string all;
  try {
    for (char byte = 0;; all += byte) socket.receive(&byte, 1, after(30s));
  } catch (const NetError& error) {
    EXPECT_EQ(error.kind(), NetError::Kind::closed) << error.what();
  }
  const std::size_t end = all.find("\r\n\r\n");
  if (end == all.npos) return {};
  return {std::stoi(all.substr(9, 3)), all.substr(0, end), all.substr(end + 4)};
}

class Endpoint : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_); }

  Answer get(const std::string& path) const { return ask(port_, "GET " + path); }

  LiveRun run_;
  int port_ = test::free_port();
  std::unique_ptr<MetricsServer> server_ = MetricsServer::start(port_, run_);
};

TEST_F(Endpoint, HealthIsThereFromTheBeginReadinessOnceItIsAtTheDoor) {
  EXPECT_EQ(get("/healthz").code, 200);
  EXPECT_EQ(get("/readyz").code, 503);
  run_.at_the_door();
  EXPECT_EQ(get("/readyz").code, 200);
  EXPECT_EQ(get("/readyz?verbose").code, 200);
  EXPECT_EQ(get("/healthz").code, 200);
  run_.training_begins("mlp", TrainPlan{});
  EXPECT_EQ(get("/readyz").code, 200);
  run_.finished();
  EXPECT_EQ(get("/readyz").code, 200);
}

TEST_F(Endpoint, MetricsAreInPrometheusTextFormat) {
  const Answer answer = get("/metrics");
  EXPECT_EQ(answer.code, 200);
  EXPECT_NE(answer.head.find("Content-Type: text/plain; version=0.0.4"), std::string::npos)
      << answer.head;
  EXPECT_EQ(answer.text, metrics_page(run_.snapshot()));
  const Answer head = ask(port_, "HEAD /metrics");
  EXPECT_EQ(head.code, 200);
  EXPECT_EQ(head.text, "");
}

TEST_F(Endpoint, AllElseIsRefused) {
  EXPECT_EQ(get("/").code, 404);
  EXPECT_EQ(get("/metrics/x").code, 404);
  EXPECT_EQ(get("/../../etc/passwd").code, 404);
  EXPECT_EQ(ask(port_, "POST /metrics").code, 405);
  EXPECT_EQ(ask(port_, "DELETE /healthz").code, 405);
}

// Under ThreadSanitizer this is the test of the server's threads beside the training's.
TEST_F(Endpoint, AnswersWhileTheRunGoesOn) {
  TrainPlan plan;
  plan.updates = 1u << 30;
  run_.training_begins("mlp", plan);
  std::atomic<bool> ended{false};
  std::thread trains([&] {
    StepResult result;
    result.samples = 8;
    for (; !ended; ++result.update) {
      run_.step_done(result, {});
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get("/metrics").code, 200);
  ended = true;
  trains.join();
}

TEST_F(Endpoint, ClientsThatStopHalfwayDoNotHoldUpProbes) {
  std::vector<Socket> stuck;
  for (int client = 0; client < 8; ++client) {
    stuck.push_back(connect_to("127.0.0.1", static_cast<std::uint16_t>(port_), after(30s)));
    stuck.back().send("GET /h", 6, after(30s));
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(get("/healthz").code, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "each of them is waited for";
}

TEST_F(Endpoint, APortThatAnotherHasIsSaidAndNoError) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(MetricsServer::start(port_, run_));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(fmt::format("--metrics-port {}: port {} in use", port_, port_)),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("training goes on"), std::string::npos) << said;
  EXPECT_EQ(get("/healthz").code, 200);  // the first one's
}

TEST_F(Endpoint, HandsItsPortOn) {
  EXPECT_EQ(get("/healthz").code, 200);  // leaves a connection that lingers
  server_.reset();
  server_ = MetricsServer::start(port_, run_);
  ASSERT_TRUE(server_);
  EXPECT_EQ(get("/healthz").code, 200);
}

TEST(ServesMetrics, OneRankAPod) {
  Identity pod;  // of two, with four ranks each
  pod.world = 8;
  pod.nodes = 2;
  const auto serves = [](Identity identity, int rank, int local_rank) {
    identity.rank = rank;
    identity.local_rank = local_rank;
    return serves_metrics(identity);
  };
  EXPECT_TRUE(serves(pod, 0, 0));
  EXPECT_FALSE(serves(pod, 1, 1));
  EXPECT_TRUE(serves(pod, 4, 0));
  EXPECT_TRUE(serves(pod, 4, 4)) << "both pods on one host";
  EXPECT_FALSE(serves(pod, 7, 3));
  Identity of_mpirun;
  of_mpirun.world = 8;
  EXPECT_TRUE(serves(of_mpirun, 0, 0));
  EXPECT_TRUE(serves(of_mpirun, 4, 0));
  EXPECT_FALSE(serves(of_mpirun, 5, 1));
  EXPECT_TRUE(serves_metrics(Identity{}));
}

TEST(MetricsPage, LeavesOutWhatIsNotKnown) {
  const std::string page = metrics_page(RunSnapshot{});
  EXPECT_NE(page.find("annulus_ranks 1"), std::string::npos) << page;
  for (const char* name : {"annulus_loss", "annulus_step_seconds", "annulus_overlap_ratio",
                           "annulus_discovery_seconds", "nan"})
    EXPECT_EQ(page.find(name), std::string::npos) << page;
}

TEST(MetricsPage, SaysCommunicationInSecondsAndBytes) {
  RunSnapshot run;
  run.ranks = 4;
  run.last = EpochMetrics{};
  run.last->overlap = OverlapReport{.steps = 8, .overlap = 0.75, .exposed = 2, .interference = NAN};
  run.last->overlap->buckets = {{.bytes = 4'000'000, .transfer = 2, .exposed = 0.5}};
  const std::string page = metrics_page(run);
  for (const char* line : {"annulus_overlap_ratio 0.75\n", "annulus_exposed_seconds 0.002\n",
                           // 4 MB in 2 ms, times 2 (n - 1) / n
                           "annulus_bucket_bus_bytes_per_second{bucket=\"0\"} 3000000000\n",
                           "annulus_bucket_exposed_seconds{bucket=\"0\"} 0.0005\n"})
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  EXPECT_EQ(page.find("interference"), std::string::npos);
}

}  // namespace
}  // namespace annulus
