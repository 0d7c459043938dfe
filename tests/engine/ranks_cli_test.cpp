// `annulus train --ranks N` as a user runs it: ranks as processes, over shared memory and TCP, hold
// the bits of as many virtual ranks; every image is seen once; only rank 0 speaks on stdout.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/data/data_files.h"
#include "tests/engine/program.h"

namespace {

using annulus::test::Outcome;
using annulus::test::slurp;
using nlohmann::json;

const std::string kTcp = "NCCL_SHM_DISABLE=1 NCCL_SOCKET_IFNAME=lo ";

class RanksProgram : public annulus::test::Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    const auto data = folder_ / "data";
    std::filesystem::create_directories(data);
    for (int k = 1; k <= 5; ++k)  // 1,003 training images
      annulus::test::write_file(data / ("data_batch_" + std::to_string(k) + ".bin"),
                                annulus::test::cifar_records(k <= 3 ? 201 : 200, k));
    annulus::test::write_file(data / "test_batch.bin", annulus::test::cifar_records(103, 6));
  }

  Outcome train(const std::string& options, const std::string& environment = "") const {
    return run("train --data data --batch-size 4 --epochs 1 " + options,
               "ANNULUS_CPU_CHECK=1 " + environment);
  }

  // The weights of a run, which must have ended well and without a word from the device's checker.
  std::string weights_of(const std::string& name, const std::string& options,
                         const std::string& environment = "") const {
    std::filesystem::remove_all(folder_ / name);
    const Outcome outcome = train(options + " --out " + name, environment);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("annulus cpu device"), std::string::npos) << outcome.err;
    return slurp(folder_ / name / "model.safetensors");
  }

  json metrics_of(const std::string& name) const {
    return json::parse(slurp(folder_ / name / "metrics.jsonl"));
  }
};

TEST_F(RanksProgram, SameBitsAsVirtualRanksOverBothTransports) {
  const auto options = [](const char* ranks_option, const char* n, const char* order) {
    return fmt::format(
        "--model seed-cnn --max-steps 20 --bucket-size 16K,100K --sum-order {} {} {}", order,
        ranks_option, n);
  };
  for (const char* n : {"2", "4"}) {
    const std::string by_rank = weights_of("by-rank", options("--virtual-ranks", n, "rank"));
    ASSERT_GT(by_rank.size(), 1000000u);
    EXPECT_EQ(by_rank, weights_of("memory", options("--ranks", n, "rank"))) << n;
    EXPECT_EQ(weights_of("by-ring", options("--virtual-ranks", n, "ring")),
              weights_of("tcp", options("--ranks", n, "ring"), kTcp))
        << n;
  }
}

TEST_F(RanksProgram, ThreeRanksSeeEachOf1003ImagesOnce) {
  const Outcome outcome = train("--model mlp --ranks 3 --trace --out three");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json metrics = metrics_of("three");
  EXPECT_EQ(metrics["samples"], 1003);
  EXPECT_EQ(metrics["updates"], 84);  // of 12, and one of 7
  EXPECT_EQ(metrics["val_samples"], 103);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  EXPECT_NE(outcome.out.find(" overlap="), std::string::npos);
  for (const char* said :
       {"[rank 0] ", "global batch 12 (3 x 4)", "peak ", " x global batch 12 / 1024", "busbw"})
    EXPECT_NE(outcome.err.find(said), std::string::npos) << said << outcome.err;
  EXPECT_EQ(outcome.err.find("[rank 1] "), std::string::npos) << outcome.err;

  const json& communication = metrics["communication"];
  double bytes = 0;
  for (const json& bucket : communication["buckets"]) {
    EXPECT_LE(bucket["ready_ms"], bucket["started_ms"]);
    EXPECT_LE(bucket["started_ms"], bucket["ended_ms"]);
    EXPECT_GE(bucket["transfer_ms"].get<double>(), bucket["exposed_ms"].get<double>() - 1e-9);
    bytes += bucket["bytes"].get<double>();
  }
  EXPECT_GT(bytes, 1e6);
  EXPECT_GE(communication["overlap"], 0);
  EXPECT_LE(communication["overlap"], 1);
  EXPECT_TRUE(communication["interference"].is_number());

  const json trace = json::parse(slurp(folder_ / "three" / "trace.json"));
  EXPECT_TRUE(trace["metadata"].contains("aligned_on"));
  EXPECT_GT(trace["traceEvents"].size(), 100u);
}

TEST_F(RanksProgram, OneHalfOfTheStepAlone) {
  for (const char* half : {"--no-comm", "--comm-only"}) {
    const Outcome outcome =
        train(fmt::format("--model mlp --ranks 2 --max-steps 10 --out half{} {}", half, half));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
}

TEST_F(RanksProgram, SeveralRanksWantDataThatWasChosen) {
  const Outcome outcome = run("train --model mlp --ranks 2 --max-steps 1 --out none");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("--data synthetic"), std::string::npos) << outcome.err;
}

}  // namespace
