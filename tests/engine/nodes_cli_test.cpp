// Nodes (pods) as a user starts them on one machine: `annulus topology` in every form, and two
// nodes that are told of each other and end in the bits of virtual ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/engine/annulus_process.h"
#include "tests/engine/free_port.h"
#include "tests/engine/program.h"

namespace annulus::test {
namespace {

constexpr const char* kTrain =
    "train --data synthetic --model seed-cnn --batch-size 4 --max-steps 8 --bucket-size 16K,100K "
    "--sum-order ring";

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

class NodesProgram : public Program {
 protected:
  std::unique_ptr<AnnulusProcess> start(const std::string& name, const std::string& arguments,
                                        std::vector<std::string> settings = {}) const {
    std::vector<std::string> command = words(fmt::format("{} {}", ANNULUS_PROGRAM, arguments));
    settings.insert(settings.end(), {"NCCL_SHM_DISABLE=1", "NCCL_SOCKET_IFNAME=lo"});
    return std::make_unique<AnnulusProcess>(folder_, name, command, settings);
  }
  static std::string two_workers() {
    return fmt::format("127.0.0.1:{},127.0.0.1:{}", free_port(), free_port());
  }
  std::string weights(const std::string& run) const {
    return slurp(folder_ / run / "model.safetensors");
  }
  std::string weights_of_virtual_ranks(int ranks) const {
    const Outcome outcome = run(fmt::format("{} --virtual-ranks {} --out virtual", kTrain, ranks));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return weights("virtual");
  }
};

TEST_F(NodesProgram, TwoShellsHoldTheBitsOfVirtualRanks) {
  const std::string workers = two_workers();
  const auto command = [&](int index) {
    return fmt::format("{} --workers {} --index {} --out nodes", kTrain, workers, index);
  };
  const auto second = start("second", command(1)), first = start("first", command(0));
  EXPECT_EQ(first->code(), 0) << first->err();
  EXPECT_EQ(second->code(), 0) << second->err();
  EXPECT_NE(first->err().find("node 0 of 2"), std::string::npos) << first->err();
  EXPECT_EQ(second->out(), "") << "only rank 0 speaks";
  ASSERT_GT(weights("nodes").size(), 1000000u);
  EXPECT_EQ(weights("nodes"), weights_of_virtual_ranks(2));
}

// The run was of two ranks in all; --ranks means those of one node.
TEST_F(NodesProgram, ARunOfTwoNodesGoesOnOnTwoNodes) {
  const std::string workers = two_workers();
  const auto command = [&](const std::string& run, int index) {
    return fmt::format("{} --workers {} --index {}", run, workers, index);
  };
  const std::string begin = std::string(kTrain) + " --out nodes --checkpoint-every 4";
  const auto second = start("second", command(begin, 1)), first = start("first", command(begin, 0));
  EXPECT_EQ(first->code(), 0) << first->err();
  EXPECT_EQ(second->code(), 0) << second->err();
  const std::string on = "train --resume nodes --max-steps 12";
  const auto third = start("third", command(on, 1)), fourth = start("fourth", command(on, 0));
  EXPECT_EQ(third->code(), 0) << third->err();
  EXPECT_EQ(fourth->code(), 0) << fourth->err();
  EXPECT_NE(fourth->err().find("global batch 8 (2 x 4)"), std::string::npos) << fourth->err();
}

TEST_F(NodesProgram, TwoNodesOfTwoDevices) {
  const std::string workers = two_workers();
  const auto command = [&](int index) {
    return fmt::format("{} --ranks 2 --workers {} --index {} --out nodes", kTrain, workers, index);
  };
  const auto second = start("second", command(1)), first = start("first", command(0));
  EXPECT_EQ(first->code(), 0) << first->err();
  EXPECT_EQ(second->code(), 0) << second->err();
  EXPECT_EQ(weights("nodes"), weights_of_virtual_ranks(4));
}

TEST_F(NodesProgram, NodesOfAnotherNumberOfRanksAreRefusedByName) {
  const std::string workers = two_workers();
  const auto second = start(
      "second", fmt::format("{} --workers {} --index 1 --ranks 2 --out nodes", kTrain, workers));
  const auto first = start(
      "first",
      fmt::format("{} --workers {} --index 0 --rendezvous-timeout 5 --out nodes", kTrain, workers));
  EXPECT_EQ(second->code(), 202) << second->err();
  EXPECT_NE(first->code(), 0) << first->err();
}

TEST_F(NodesProgram, ASharedSecretLetsInAWrongOneDoesNot) {
  std::ofstream(folder_ / "secret") << "sesame\n";
  std::ofstream(folder_ / "other") << "open\n";
  const std::string workers = two_workers();
  const auto command = [&](int index, const char* file) {
    return fmt::format(
        "{} --workers {} --index {} --secret-file {} --discovery-timeout 60 --out nodes", kTrain,
        workers, index, file);
  };
  const auto first = start("first", command(0, "secret"));
  const auto stranger = start("stranger", command(1, "other"));
  EXPECT_EQ(stranger->code(), 2) << stranger->err();
  EXPECT_NE(stranger->err().find("secret"), std::string::npos) << stranger->err();
  EXPECT_EQ((stranger->err() + first->err()).find("sesame"), std::string::npos);
  const auto second = start("second", command(1, "secret"));
  EXPECT_EQ(first->code(), 0) << first->err();
  EXPECT_EQ(second->code(), 0) << second->err();
}

TEST_F(NodesProgram, WhatNobodyToldIsAskedFor) {
  const Outcome missing =
      run("train --data synthetic --secret-file nothing --workers a:1,b:1 "
          "--index 0");
  EXPECT_EQ(missing.code, 2) << missing.err;
  EXPECT_NE(missing.err.find("--secret-file nothing"), std::string::npos) << missing.err;
  const Outcome no_index = run("train --data synthetic --workers a:1,b:1");
  EXPECT_EQ(no_index.code, 2) << no_index.err;
  EXPECT_NE(no_index.err.find("--index"), std::string::npos) << no_index.err;
}

TEST_F(NodesProgram, WhatIsWrittenWrongIsRefused) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"--workers '' --index 0", "is empty"},
      {"--workers 'a:1, b:1' --index 0", "' b:1' has a character that is in no host's name"},
      {"--workers $'a\\nPET_NNODES=9:1,b:1' --index 0", "a character"},
      {"--workers a:1,A.:1 --index 0", "twice"},
      {"--workers a:1,b:1 --index 0 --settle nan", "finite"},
      {"--workers " + std::string(64, 'x') + ":1,b:1 --index 0", "64 bytes"},
  };
  for (const auto& [options, words] : wrong) {
    const Outcome outcome = run("topology " + options);
    EXPECT_EQ(outcome.code, 2) << options << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << options << outcome.err;
    EXPECT_EQ(outcome.out, "") << options;
  }
}

TEST_F(NodesProgram, ASecretIsAFileWithBytes) {
  std::ofstream(folder_ / "empty") << "\n";
  for (const char* file : {"empty", ".", "/dev/zero", "''"}) {
    const Outcome outcome = run(fmt::format(
        "train --data synthetic --workers 127.0.0.1:1,127.0.0.1:2 --index 1 --secret-file {}",
        file));
    EXPECT_EQ(outcome.code, 2) << file << outcome.err;
    EXPECT_NE(outcome.err.find("--secret-file"), std::string::npos) << outcome.err;
  }
}

TEST_F(NodesProgram, TopologyAsTfConfigTorchrunAndHostfile) {
  const std::string nodes = "--workers a:12345,b:12345 --index 1";
  EXPECT_EQ(
      run("topology " + nodes).out,
      R"({"cluster": {"worker": ["a:12345", "b:12345"]}, "task": {"type": "worker", "index": 1}})"
      "\n");
  EXPECT_EQ(run("topology --ranks 8 --format hostfile " + nodes).out, "a slots=8\nb slots=8\n");
  EXPECT_EQ(run("topology --ranks 8 --format torchrun " + nodes).out,
            "PET_MASTER_ADDR=a\nPET_MASTER_PORT=12345\nPET_NNODES=2\nPET_NODE_RANK=1\n"
            "PET_NPROC_PER_NODE=8\n");
}

TEST_F(NodesProgram, TopologyPassesTfConfigOn) {
  const std::string tf_config =
      R"({"cluster": {"chief": ["c:1"], "worker": ["w:1"]}, "task": {"type": "worker", "index": 0}})";
  const Outcome outcome = run("topology", fmt::format("TF_CONFIG='{}'", tf_config));
  EXPECT_EQ(outcome.out, tf_config + "\n") << outcome.err;
}

TEST_F(NodesProgram, AnEvaluatorEndsWellAParameterServerDoesNot) {
  const std::string cluster =
      R"("cluster": {"worker": ["w:1"], "ps": ["p:1"], "evaluator": ["e:1"]})";
  const Outcome evaluator = run(
      "train --data synthetic",
      fmt::format(R"(TF_CONFIG='{{{}, "task": {{"type": "evaluator", "index": 0}}}}')", cluster));
  EXPECT_EQ(evaluator.code, 0);
  EXPECT_EQ(std::count(evaluator.err.begin(), evaluator.err.end(), '\n'), 1) << evaluator.err;
  const Outcome server =
      run("train --data synthetic",
          fmt::format(R"(TF_CONFIG='{{{}, "task": {{"type": "ps", "index": 0}}}}')", cluster));
  EXPECT_EQ(server.code, 2);
  EXPECT_NE(server.err.find("ps is not supported"), std::string::npos) << server.err;
}

TEST_F(NodesProgram, TheWorkerPortIsTheEnvironmentsOrTheFlags) {
  const std::string nodes = "topology --workers 10.0.0.1:7,10.0.0.2:7 --index 0 --format torchrun";
  EXPECT_NE(run(nodes).out.find("PET_MASTER_PORT=7"), std::string::npos);
  const Outcome told = run("topology", "TF_WORKER_PORT=23456");
  EXPECT_EQ(told.code, 0) << told.err;
  const Outcome wrong = run("topology", "TF_WORKER_PORT=99999");
  EXPECT_EQ(wrong.code, 2) << wrong.err;
  EXPECT_NE(wrong.err.find("TF_WORKER_PORT"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace annulus::test
