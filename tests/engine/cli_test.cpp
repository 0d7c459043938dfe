// The program as a user runs it: results on stdout, errors in one line with their exit code, a run
// folder that repeats, and the same bits in every mode of the CPU device, with one thread or two,
// with its checker on or off.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/data/data_files.h"
#include "tests/engine/program.h"
#include "tests/pattern.h"

namespace {

using annulus::test::all_matches;
using annulus::test::matches;
using annulus::test::Outcome;
using annulus::test::slurp;

// In the folder "data" lie 120 training images and 24 of the test: sanitizers are slow.
class Cli : public annulus::test::Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::filesystem::create_directories(folder_ / "data");
    annulus::test::write_cifar10(folder_ / "data", 24);
  }
};

const std::string kShortRun = "train --data data --model resnet-8 --batch-size 20 --max-steps 3 ";

TEST_F(Cli, TrainsAndLeavesARunFolder) {
  const Outcome train = run("train --data data --model mlp --batch-size 30 --epochs 2 --out a/run");
  ASSERT_EQ(train.code, 0) << train.err;
  EXPECT_TRUE(matches(
      train.out,
      R"((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z epoch=\d+ loss=\d+\.\d+ accuracy=\d\.\d+ val_loss=\d+\.\d+ val_accuracy=\d\.\d+ images_per_sec=\d+\.\d\n){2})"))
      << train.out;
  EXPECT_EQ(train.err.find('\r'), std::string::npos) << "carriage returns in a pipe";

  const auto config = nlohmann::json::parse(slurp(folder_ / "a/run/config.json"));
  EXPECT_EQ(config["model"], "mlp");
  EXPECT_EQ(config["global_batch"], 30);
  EXPECT_EQ(config["data"]["source"], "data");
  EXPECT_EQ(config["data"]["sha256"].get<std::string>().size(), 64u);
  EXPECT_TRUE(config["build"].contains("commit"));
  EXPECT_TRUE(config["machine"]["cpu_features"].is_array());
  std::istringstream metrics(slurp(folder_ / "a/run/metrics.jsonl"));
  std::string text;
  for (int epoch = 1; epoch <= 2; ++epoch) {
    ASSERT_TRUE(std::getline(metrics, text));
    EXPECT_EQ(nlohmann::json::parse(text)["epoch"], epoch);
  }

  const Outcome eval = run("eval --data data --weights a/run");
  ASSERT_EQ(eval.code, 0) << eval.err;
  const std::string accuracy = R"(val_accuracy=(\d\.\d+))";
  const auto trained = all_matches(train.out, accuracy),
             evaluated = all_matches(eval.out, accuracy);
  ASSERT_EQ(trained.size(), 2u);
  ASSERT_EQ(evaluated.size(), 1u);
  EXPECT_EQ(trained.back(), evaluated.back());
}

TEST_F(Cli, SameSeedSameBitsInEveryModeOfTheDevice) {
  const auto weights_of = [&](const std::string& name, const std::string& options,
                              const std::string& environment) {
    const Outcome outcome =
        run(kShortRun + options + " --virtual-ranks 2 --out " + name, environment);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("annulus cpu device"), std::string::npos) << outcome.err;
    return slurp(folder_ / name / "model.safetensors");
  };
  const std::string first = weights_of("first", "--threads 1", "ANNULUS_CPU_CHECK=0");
  ASSERT_GT(first.size(), 100000u);
  EXPECT_EQ(first, weights_of("again", "--threads 1", "ANNULUS_CPU_CHECK=0"));
  EXPECT_EQ(first, weights_of("two", "--threads 2", "ANNULUS_CPU_CHECK=0"));
  EXPECT_EQ(first, weights_of("three", "--threads 3", "ANNULUS_CPU_CHECK=1"));
  EXPECT_EQ(first, weights_of("calls", "--threads 3 --no-graph", "ANNULUS_CPU_CHECK=1"));
  EXPECT_EQ(first,
            weights_of("threads", "--threads 2", "ANNULUS_CPU_MODE=threads ANNULUS_CPU_CHECK=1"));
  EXPECT_EQ(first, weights_of("shuffled", "--threads 2",
                              "ANNULUS_CPU_MODE=shuffled:5 ANNULUS_CPU_CHECK=1"));
  EXPECT_NE(first, weights_of("seed", "--threads 1 --seed 2", "ANNULUS_CPU_CHECK=0"));
}

TEST_F(Cli, EnvironmentTwinsAndTheirOrder) {
  const auto epochs_of = [&](const std::string& options, const std::string& environment) {
    static int number = 0;
    const std::string name = "run" + std::to_string(number++);
    const Outcome outcome = run(
        "train --data data --model mlp --batch-size 60 --out " + name + " " + options, environment);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return std::count(outcome.out.begin(), outcome.out.end(), '\n');
  };
  EXPECT_EQ(epochs_of("", "EPOCHS=1"), 1);
  EXPECT_EQ(epochs_of("", "EPOCHS=1 ANNULUS_EPOCHS=2"), 2);
  EXPECT_EQ(epochs_of("--epochs 3", "EPOCHS=1 ANNULUS_EPOCHS=2"), 3);
}

TEST_F(Cli, FallsBackToSyntheticDataAndSaysSo) {
  const Outcome outcome = run("train --model mlp --batch-size 1000 --max-steps 1 --out run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"synthetic", "https://", "c32a1d4ab5d03f1284b67883e8d87530", "--data"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " is not in: " << outcome.err;
}

struct Misuse {
  const char* arguments;
  int code;
  std::vector<std::string> says;
};

TEST_F(Cli, ErrorsAreOneLineWithTheirCode) {
  std::filesystem::create_directories(folder_ / "empty");
  std::ofstream(folder_ / "file") << "x";
  const Misuse cases[] = {
      {"train --model resnet-9 --data synthetic", 2, {"resnet-9", "resnet-8", "seed-cnn"}},
      {"train --no-such-option", 2, {"--no-such-option", "--help"}},
      {"train --batch-size 0 --data synthetic", 2, {"--batch-size"}},
      {"train --schedule linear --data synthetic", 2, {"linear", "one-cycle"}},
      {"train --optimizer lamb --data synthetic", 2, {"lamb", "adamw"}},
      {"train --sum-order tree --data synthetic", 2, {"tree", "ring"}},
      {"train --batch-size 6000 --virtual-ranks 2 --data synthetic", 2, {"12000", "10000"}},
      {"train --data nowhere", 3, {"nowhere"}},
      {"train --data empty", 3, {"empty: no data set", "CIFAR-10"}},
      {"train --lr nan --data synthetic", 2, {"--lr", "nan"}},
      {"train --seed -1 --data synthetic", 2, {"--seed"}},
      {"train --max-steps -1 --data synthetic", 2, {"--max-steps"}},
      {"train --starts-per-update -1 --data synthetic", 2, {"--starts-per-update"}},
      {"train --data synthetic --model mlp --max-steps 1 --out full >/dev/full", 6, {"stdout"}},
      {"train --device cuda --data synthetic", 4, {"cuda", "CPU device"}},
      {"train --data synthetic --out file/run", 6, {"file/run"}},
      {"train --data synthetic --katib-metrics no/k --out nothing", 6, {"no/k", "--katib-metrics"}},
      {"eval --weights nothing.safetensors --data synthetic", 3, {"nothing.safetensors"}},
      {"train --data synthetic --model mlp --lr 1e30 --epochs 3 --batch-size 500 --out diverged",
       5,
       {"diverged", "--lr"}},
  };
  for (const Misuse& misuse : cases) {
    const Outcome outcome = run(misuse.arguments);
    EXPECT_EQ(outcome.code, misuse.code) << misuse.arguments << ": " << outcome.err;
    const std::string last = outcome.err.substr(
        outcome.err.rfind("annulus: ") == std::string::npos ? 0 : outcome.err.rfind("annulus: "));
    EXPECT_EQ(std::count(last.begin(), last.end(), '\n'), 1) << last;
    for (const std::string& part : misuse.says)
      EXPECT_NE(last.find(part), std::string::npos) << part << " is not in: " << last;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "nothing"));
}

TEST_F(Cli, TooLittleDeviceMemoryIsSaidSo) {
  const Outcome outcome = run("train --data synthetic --model mlp --max-steps 1 --out run",
                              "ANNULUS_CPU_MEMORY=30000000");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("not enough device memory"), std::string::npos) << outcome.err;
}

TEST_F(Cli, ARunFolderIsNeverOverwritten) {
  const std::string command =
      "train --data synthetic --model mlp --batch-size 1000 --max-steps 1 --out run";
  ASSERT_EQ(run(command).code, 0);
  const std::string before = slurp(folder_ / "run/model.safetensors");
  const Outcome second = run(command);
  EXPECT_EQ(second.code, 2);
  EXPECT_NE(second.err.find("already holds a run"), std::string::npos) << second.err;
  EXPECT_EQ(slurp(folder_ / "run/model.safetensors"), before);
}

TEST_F(Cli, DoctorSaysWhereThereIsNoDevice) {
  const Outcome doctor = run("doctor --json", "ANNULUS_CPU_DEVICES=0");
  EXPECT_EQ(doctor.code, 0) << doctor.err;
  const auto findings = nlohmann::json::parse(doctor.out);
  EXPECT_EQ(findings[0]["group"], "devices");
  EXPECT_EQ(findings[0]["state"], "warning");
  EXPECT_EQ(findings[0]["fact"], "no device is visible: ANNULUS_CPU_DEVICES is 0");
}

TEST_F(Cli, DoctorsErrorsAreItsExitCode) {
  const Outcome filter = run("doctor", "NCCL_SOCKET_IFNAME==none");
  EXPECT_EQ(filter.code, 2);
  EXPECT_NE(filter.out.find("no usable network interface matches NCCL_SOCKET_IFNAME='=none'"),
            std::string::npos)
      << filter.out;
  EXPECT_EQ(filter.out.find('\x1b'), std::string::npos) << "colours in a pipe";
  EXPECT_EQ(run("doctor", "ANNULUS_CPU_DEVICES=many").code, 2);
  EXPECT_EQ(run("doctor > /dev/full").code, 6);
}

}  // namespace
