// How a run ends before its end: SIGTERM and SIGINT, on one rank or on one of several, as process 1
// of a container; a loss that is not finite; a disk that fills up. Each time the last good state is
// on disk and the run goes on from there to the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/engine/leftovers.h"
#include "tests/engine/stopped_run.h"
#include "tests/pattern.h"

namespace annulus::test {
namespace {

const std::string kRun = "train --data data --model resnet-8 --batch-size 5 --epochs 6 ";

class Stop : public StoppedRun {
 protected:
  // Starts, signals once the run is in its epoch `epoch`, and returns the exit code.
  int stop(const std::string& arguments, int signal, std::vector<std::string> before = {}) {
    AnnulusProcess process = start(arguments, std::move(before));
    wait_for([&] { return !process.out().empty() || process.ended(); }, "the first epoch");
    process.signal(signal);
    const int code = process.code();
    err_ = process.err();
    return code;
  }
};

TEST_F(Stop, BySignalAndOnToTheSameBits) {
  ASSERT_EQ(run(kRun + "--out straight"), 0) << err_;
  EXPECT_EQ(stop(kRun + "--out a", SIGTERM), 143) << err_;
  EXPECT_TRUE(says(last_line(err_), "stopped by SIGTERM after update ")) << err_;
  EXPECT_TRUE(says(last_line(err_), "go on with: annulus train --resume a")) << err_;
  EXPECT_EQ(stop("train --resume a", SIGINT), 130) << err_;
  EXPECT_EQ(run("train --resume a"), 0) << err_;
  expect_the_same("a", "straight");
}

// As timeout(1) does: to its child, and at once to the group in which the child is.
TEST_F(Stop, ByASignalSentTwice) {
  for (const std::string ranks : {"--ranks 1 ", "--ranks 2 "}) {
    const std::string name = ranks == "--ranks 1 " ? "one" : "two";
    AnnulusProcess process = start(fmt::format("{}{}--out {}", kRun, ranks, name));
    wait_for([&] { return !process.out().empty() || process.ended(); }, "the first epoch");
    process.signal(SIGTERM);
    process.signal(SIGTERM);
    EXPECT_EQ(process.code(), 143) << process.err();
    EXPECT_TRUE(says(process.err(), "stopped by SIGTERM after update ")) << process.err();
  }
}

// Case L01. Process 1 has no default action: without a handler SIGTERM would do nothing.
TEST_F(Stop, AsProcessOneOfAContainer) {
  if (run("--version", {"unshare", "-pf", "--mount-proc"}) != 0)
    GTEST_SKIP() << "skipped: no permission for a pid namespace";
  AnnulusProcess process =
      start(kRun + "--out a", {"unshare", "-pf", "--mount-proc", "--kill-child"});
  wait_for([&] { return !process.out().empty(); }, "the first epoch");
  for (const pid_t pid : processes_with(tag_))
    if (slurp("/proc/" + std::to_string(pid) + "/comm") == "annulus\n") kill(pid, SIGTERM);
  EXPECT_EQ(process.code(30s), 143) << process.err();
}

// All stop after the same update, whichever of them was told, and all with the same code.
TEST_F(Stop, OneOfSeveralRanksIsEnough) {
  const std::string two = kRun + "--ranks 2 ";
  ASSERT_EQ(run(two + "--out straight"), 0) << err_;
  for (const int told : {0, 1}) {
    const std::string name = "told" + std::to_string(told);
    AnnulusProcess process = start(fmt::format("{}--out {}", two, name));
    wait_for([&] { return !process.out().empty() || process.ended(); }, "the first epoch");
    for (const pid_t pid : processes_with(tag_))
      if (variable_of(pid, "ANNULUS_LAUNCHER_RANK") == std::to_string(told)) kill(pid, SIGTERM);
    EXPECT_EQ(process.code(), 143) << process.err();
    EXPECT_TRUE(says(process.err(), "stopped by SIGTERM after update ")) << process.err();
    EXPECT_FALSE(says(process.err(), "left with code")) << process.err();
    EXPECT_EQ(run("train --resume " + name), 0) << err_;
    expect_the_same(name, "straight");
  }
}

TEST_F(Stop, ByTheLauncher) {
  EXPECT_EQ(stop(kRun + "--ranks 2 --out a", SIGINT), 130) << err_;
  EXPECT_EQ(run("train --resume a"), 0) << err_;
  EXPECT_EQ(metrics("a").size(), 6u);
}

// By a clock that rank 0 alone has.
TEST_F(Stop, CheckpointsByTheMinute) {
  ASSERT_EQ(run(kRun + "--ranks 2 --checkpoint-every 0.001min --keep-checkpoints 1000 --out a"), 0)
      << err_;
  EXPECT_GT(checkpoints("a").size(), 2u);
}

// Case K05 and its kind. The weights are those before the step, so its replay shows the layer.
TEST_F(Stop, ADivergingStepIsReplayedToNameTheLayer) {
  for (const std::string ranks : {"--ranks 1 ", "--ranks 2 ", "--ranks 2 --sync-batchnorm "}) {
    fs::remove_all(path("a"));
    EXPECT_EQ(run(fmt::format("{}{}--lr 1e25 --checkpoint-every 1 --out a", kRun, ranks)), 5)
        << err_;
    EXPECT_TRUE(says(err_, "training diverged: the loss of update ")) << err_;
    EXPECT_TRUE(says(err_, " is the first that is not finite")) << err_;
    EXPECT_TRUE(says(err_, "the output of layer ")) << err_;  // no weight: they are as before
    EXPECT_TRUE(says(err_, "the last checkpoint is ")) << err_;
  }
  ASSERT_EQ(run(kRun + "--max-steps 10 --out b"), 0) << err_;
  EXPECT_EQ(run("train --resume b --max-steps 0 --lr 1e25 --checkpoint-every never"), 5) << err_;
  EXPECT_EQ(checkpoints("b"), std::vector<std::string>{"step-000000010.safetensors"});
  EXPECT_EQ(run("train --resume b --lr 0.001"), 0) << err_;
}

// Case C03: a limit on a file's size stands in for a full disk.
TEST_F(Stop, AFullDiskLosesNoCheckpoint) {
  ASSERT_EQ(run(kRun + "--max-steps 24 --out a"), 0) << err_;
  const std::string before = slurp(path("a/checkpoints") / checkpoints("a").back());
  EXPECT_EQ(run("train --resume a --max-steps 0 --checkpoint-every 2",
                {"sh", "-c", R"(ulimit -f 100; exec "$@")", "sh"}),
            6);
  EXPECT_TRUE(says(last_line(err_), "step-000000026.safetensors")) << err_;
  EXPECT_TRUE(says(last_line(err_), "File too large")) << err_;
  EXPECT_EQ(checkpoints("a"), std::vector<std::string>{"step-000000024.safetensors"});
  EXPECT_TRUE(slurp(path("a/checkpoints/step-000000024.safetensors")) == before);
}

// Case C13: the data reaches the disk before the name, and the name before the run goes on.
TEST_F(Stop, ACheckpointSurvivesAPowerCut) {
  const std::vector<std::string> strace{
      "strace", "-f", "-y", "-o", "calls", "-e", "trace=fsync,rename"};
  if (run("--version", strace) != 0) GTEST_SKIP() << "skipped: no strace";
  ASSERT_EQ(run(kRun + "--max-steps 1 --out a", strace), 0) << err_;
  const std::string calls = slurp(path("calls"));
  const std::string name = R"(step-000000001\.safetensors)";
  const std::string order = R"(fsync\([^\n]*checkpoints/)" + name +
                            R"(\.\d+\.tmp>\)[^]*rename\([^\n]*)" + name +
                            R"("\)[^]*fsync\([^\n]*a/checkpoints>\))";
  EXPECT_TRUE(contains(calls, order)) << calls;
}

TEST_F(Stop, ADiskWithoutRoomIsFoundBeforeTraining) {
  const fs::path disk = path("disk");
  fs::create_directories(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "skipped: no permission to mount a tmpfs";
  EXPECT_EQ(run(kRun + "--out disk/a"), 6);
  EXPECT_TRUE(says(last_line(err_), "two checkpoints need 2")) << err_;
  EXPECT_TRUE(out_.empty());
  umount(disk.c_str());
}

// The disk fills up while the run trains; what was complete before stays and is resumed.
TEST_F(Stop, ADiskThatFillsUpLosesNoCheckpoint) {
  const fs::path disk = path("disk");
  fs::create_directories(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=8m") != 0)
    GTEST_SKIP() << "skipped: no permission to mount a tmpfs";
  const int code = run(kRun + "--out disk/a --checkpoint-every 3 --keep-checkpoints 1000");
  const std::string error = last_line(err_);
  const bool whole = code == 6 && run("train --resume disk/a/checkpoints/" +
                                      checkpoints("disk/a").back() + " --out b") == 0;
  umount(disk.c_str());
  EXPECT_EQ(code, 6) << error;
  EXPECT_TRUE(says(error, "No space left on device")) << error;
  EXPECT_TRUE(whole) << err_;
}

}  // namespace
}  // namespace annulus::test
