// A run that goes on from a checkpoint ends in the bits of one that never stopped: from every
// update, on one rank and on several, whatever was changed in the folder meanwhile; and what cannot
// be resumed says why, in one line and with its code.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "tests/engine/free_port.h"
#include "tests/engine/stopped_run.h"

namespace annulus::test {
namespace {

// 24 updates an epoch.
const std::string kRun = "train --data data --model mlp --batch-size 5 --epochs 2 ";

class Resume : public StoppedRun {
 protected:
  // A run with a checkpoint after every update.
  void run_straight(const std::string& more = "") {
    ASSERT_EQ(run(kRun + more + "--out straight --checkpoint-every 1 --keep-checkpoints 1000"), 0)
        << err_;
  }
  void damage(const std::string& name) const { fs::resize_file(path(name), 1000); }
};

TEST_F(Resume, FromEveryUpdateToTheSameBits) {
  run_straight();
  const std::vector<std::string> names = checkpoints("straight");
  ASSERT_EQ(names.size(), 48u);  // as many updates as there are batches: none twice (case C10)
  const std::string whole = weights("straight");
  const std::vector<nlohmann::json> epochs = metrics("straight");
  const std::string half = "step-000000025";  // of its two epochs, the first is behind it
  bool graph = true;                          // every other one without
  for (const std::string& name : names) {
    graph = !graph;
    ASSERT_EQ(run(fmt::format("train --resume straight/checkpoints/{0} --checkpoint-every never "
                              "--out {0}{1}",
                              name, graph ? "" : " --no-graph")),
              0)
        << err_;
    EXPECT_TRUE(weights(name) == whole) << name;
    const bool nothing_left = name == names.back();
    EXPECT_EQ(metrics(name), nothing_left
                                 ? std::vector<nlohmann::json>{}
                                 : std::vector<nlohmann::json>(
                                       epochs.begin() + (name >= half ? 1 : 0), epochs.end()))
        << name;
    fs::remove_all(path(name));
  }
}

// Adam has two moments, dropout and augmentation their random numbers, BatchNorm its statistics.
TEST_F(Resume, OfEveryKindOfState) {
  for (const std::string more :
       {"--model resnet-8 --optimizer adam --epochs 1 --batch-size 20 --translate 2 --cutout 4 "
        "--checkpoint-every 4 ",
        "--model seed-cnn --virtual-ranks 3 --batch-size 11 --checkpoint-every 2 --epochs 1 "}) {
    const std::string run_options = "train --data data " + more;
    ASSERT_EQ(run(run_options + "--keep-checkpoints 2 --out straight"), 0) << err_;
    const std::string first = checkpoints("straight").front();
    ASSERT_EQ(run("train --resume straight/checkpoints/" + first + " --out again"), 0) << err_;
    expect_the_same("again", "straight");
    fs::remove_all(path("straight"));
    fs::remove_all(path("again"));
  }
}

// Rank 0 reads, the others receive: they run in a folder without the checkpoint's numbers.
TEST_F(Resume, OnSeveralRanks) {
  run_straight("--ranks 2 ");
  for (const std::string name : {"step-000000001", "step-000000011", "step-000000023"}) {
    ASSERT_EQ(
        run(fmt::format("train --resume straight/checkpoints/{0}.safetensors --out {0}", name)), 0)
        << err_;
    EXPECT_TRUE(weights(name) == weights("straight")) << name;
  }
}

// Case C11: on two machines each has a local rank 0, but one rank of them all writes.
TEST_F(Resume, OneRankOfAllWrites) {
  const auto on_node = [](int rank) {
    return std::vector<std::string>{"unshare",
                                    "-u",
                                    "sh",
                                    "-c",
                                    R"(hostname "$0"; exec "$@")",
                                    "node" + std::to_string(rank),
                                    "strace",
                                    "-f",
                                    "-o",
                                    "opened" + std::to_string(rank),
                                    "-e",
                                    "trace=openat"};
  };
  if (run("--version", on_node(0)) != 0)
    GTEST_SKIP() << "skipped: no strace, or no permission for a host name";
  const std::string ranks =
      kRun + "--max-steps 4 --checkpoint-every 2 --out both --world-size 2 " +
      "--local-rank 0 --local-world-size 1 --rendezvous 127.0.0.1:" + std::to_string(free_port()) +
      " --rank ";
  AnnulusProcess first = start(ranks + "0", on_node(0)), second = start(ranks + "1", on_node(1));
  EXPECT_EQ(first.code(), 0) << first.err();
  EXPECT_EQ(second.code(), 0) << second.err();
  const auto created = [&](int rank) {
    std::istringstream calls(slurp(path("opened" + std::to_string(rank))));
    std::size_t count = 0;
    for (std::string call; std::getline(calls, call);)
      // Each rank's NCCL has a log of its own.
      if (says(call, "O_CREAT") && says(call, "both/") && !says(call, "nccl")) ++count;
    return count;
  };
  EXPECT_GE(created(0), 3u);
  EXPECT_EQ(created(1), 0u);
}

// Two virtual ranks are two ranks.
TEST_F(Resume, AnotherSplitOfTheSameWorldSizeIsTheSameRun) {
  run_straight("--ranks 2 ");
  ASSERT_EQ(run("train --resume straight/checkpoints/step-000000007.safetensors --ranks 1 "
                "--virtual-ranks 2 --out again"),
            0)
      << err_;
  EXPECT_TRUE(weights("again") == weights("straight"));
}

// Case C09. Every image once an epoch, also in the one that changes its world size.
TEST_F(Resume, AnotherWorldSizeGoesOnFromTheSamplesSeen) {
  run_straight("--virtual-ranks 4 ");
  ASSERT_EQ(run("train --resume straight/checkpoints/step-000000002.safetensors --virtual-ranks 2 "
                "--out half"),
            0)
      << err_;
  EXPECT_TRUE(
      says(err_, "the global batch was 20 and is 10 now: goes on from 40 samples of epoch 1"))
      << err_;
  EXPECT_TRUE(says(err_, "peak 0.0009766 (0.1 x global batch 10 / 1024)")) << err_;
  const auto lines = metrics("half");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["samples"], 120);
  EXPECT_EQ(lines[0]["updates"], 2 + 8);
  EXPECT_EQ(lines[1]["updates"], 2 + 8 + 12);
}

TEST_F(Resume, MetricsAreCutToTheCheckpoint) {
  run_straight();
  for (int i = 48; i > 30; --i)
    damage(fmt::format("straight/checkpoints/step-{:09}.safetensors", i));
  std::ofstream(path("straight/metrics.jsonl"), std::ios::app) << R"({"epoch":3,"loss)";
  const std::string before = weights("straight");
  ASSERT_EQ(run("train --resume straight"), 0) << err_;
  EXPECT_TRUE(says(err_, "warning: straight/checkpoints/step-000000048.safetensors"));
  EXPECT_TRUE(
      says(err_, "resumes straight/checkpoints/step-000000030.safetensors after update 30"));
  EXPECT_EQ(metrics("straight").size(), 2u);
  EXPECT_TRUE(weights("straight") == before);
}

TEST_F(Resume, AutoBeginsWhatIsNotThereAndGoesOnWithWhatIs) {
  ASSERT_EQ(run(kRun + "--out a --resume auto --max-steps 30"), 0) << err_;
  EXPECT_TRUE(says(err_, "no checkpoint to resume: begins at update 1")) << err_;
  ASSERT_EQ(run(kRun + "--out a --resume auto --max-steps 0"), 0) << err_;
  EXPECT_TRUE(says(err_, "after update 30")) << err_;
  ASSERT_EQ(run(kRun + "--out a --resume auto"), 0) << err_;
  EXPECT_TRUE(says(err_, "nothing is left to do: all 48 updates are done; --epochs")) << err_;
  EXPECT_EQ(metrics("a").size(), 2u);
  ASSERT_EQ(run(kRun + "--out runs/b"), 0);
  ASSERT_EQ(run("train --resume auto --epochs 3"), 0) << err_;
  EXPECT_TRUE(says(err_, "run folder: runs/b")) << err_;
  EXPECT_EQ(metrics("runs/b").size(), 3u);
}

TEST_F(Resume, WhatCannotBeResumedSaysWhy) {
  run_straight();
  const auto refused = [&](const std::string& arguments, int code, const std::string& words) {
    EXPECT_EQ(run(arguments), code) << arguments;
    EXPECT_TRUE(says(last_line(err_), words)) << arguments << ": " << err_;
    EXPECT_FALSE(fs::exists(path("new"))) << arguments;
  };
  refused("train --resume nowhere --out new", 2, "--resume nowhere: is neither");
  refused("train --resume straight --seed 5 --out new", 2, "--seed is 1, but this run's is 5");
  refused("train --resume straight --data synthetic --out new", 2, "--data (SHA-256) is");
  refused("train --resume straight/config.json --out new", 3, "straight/config.json: ");
  refused("train --resume straight --model seed-cnn --out new", 2, "--model is mlp");
  refused("train --resume auto", 2, "no run in runs/");
  for (const std::string& name : checkpoints("straight")) damage("straight/checkpoints/" + name);
  refused("train --resume straight", 3, "none of its 48 checkpoints can be read");
}

// Case: a crash loop in Kubernetes. The first start and one more fail before a checkpoint.
TEST_F(Resume, TheThirdStartFromOneUpdateIsRefused) {
  const std::string diverges = kRun + "--out a --resume auto --lr 1e30 ";
  EXPECT_EQ(run(diverges), 5);
  EXPECT_EQ(run(diverges), 5);
  const std::string starts = slurp(path("a/starts.jsonl"));
  EXPECT_TRUE(says(starts, R"("event":"failed","reason":"training diverged)")) << starts;
  EXPECT_EQ(run(diverges), 7);
  EXPECT_TRUE(says(last_line(err_), "2 starts after update 0 came to no further checkpoint"))
      << err_;
  EXPECT_EQ(run(diverges + "--starts-per-update 0"), 5);
  EXPECT_EQ(run(kRun + "--out a --resume auto --lr 0.01 --starts-per-update 9"), 0);
}

TEST_F(Resume, ASecondProcessIsKeptOut) {
  run_straight();
  const int lock = open(path("straight/starts.jsonl").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_EQ(run("train --resume straight --epochs 3"), 202);
  EXPECT_TRUE(says(last_line(err_), "another process trains in this folder")) << err_;
  AnnulusProcess patient = start("train --resume straight --epochs 3");
  std::this_thread::sleep_for(500ms);
  close(lock);  // as the last rank of a killed run does, a little later than its launcher
  EXPECT_EQ(patient.code(), 0) << patient.err();
}

TEST_F(Resume, AConfigRepeatsItsRun) {
  const std::string options =
      "train --data data --model resnet-8 --virtual-ranks 2 --batch-size 15 --epochs 1 --seed 7 "
      "--lr 0.037 --label-smoothing 0.13 --translate 3 --drop-last true --optimizer adamw ";
  ASSERT_EQ(run(options + "--out first"), 0) << err_;
  ASSERT_EQ(run("train --config first/config.json --out second"), 0) << err_;
  expect_the_same("second", "first");
  ASSERT_EQ(run("train --config first/config.json --seed 8 --out third"), 0) << err_;
  EXPECT_FALSE(weights("third") == weights("first"));
  EXPECT_EQ(run("train --config first/config.json --data synthetic --out fourth"), 3);
  EXPECT_TRUE(says(last_line(err_), "saw other data")) << err_;
  EXPECT_EQ(run("train --config nowhere.json --out fourth"), 3);
  EXPECT_EQ(run("train --config data/test_batch.bin --out fourth"), 3);
}

}  // namespace
}  // namespace annulus::test
