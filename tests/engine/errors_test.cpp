// What a run meets on machines that are not the developer's: folders that cannot be written, users
// without a name, full and closed streams, little memory, a host that does not know itself. Each
// error is one line on stderr with its code, and nothing half-written is left. What needs root, a
// mount or another user is skipped by name where that cannot be had.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/data/data_files.h"
#include "tests/engine/program.h"

namespace {

using annulus::test::Outcome;

#if defined(ANNULUS_ASAN) || defined(ANNULUS_TSAN)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// In the folder "data" lie 120 training images and 24 of the test.
class Errors : public annulus::test::Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::filesystem::create_directories(folder_ / "data");
    annulus::test::write_cifar10(folder_ / "data", 24);
  }

  // Runs a shell's script in the folder; $annulus is the program, $train a short training.
  Outcome shell(const std::string& script) const {
    std::ofstream(folder_ / "script")
        << "unset ANNULUS_DATA EPOCHS\ncd " << folder_.string() << "\nannulus=" << ANNULUS_PROGRAM
        << "\n"
        << "train=\"$annulus train --model mlp --data " << (folder_ / "data").string()
        << " --batch-size 20 --max-steps 2\"\n"
        << script << "\n";
    return run("--version >/dev/null; sh script");
  }

  bool works(const std::string& command) const { return shell(command).code == 0; }

  static void expect_one_line(const Outcome& outcome, int code, const std::string& says) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    const std::size_t begin = outcome.err.find("annulus: ");
    ASSERT_NE(begin, std::string::npos) << outcome.err;
    const std::string error = outcome.err.substr(begin);
    EXPECT_EQ(std::ranges::count(error, '\n'), 1) << error;
    EXPECT_NE(error.find(says), std::string::npos) << error;
  }
};

// A user who is not root: rights of files hold for him.
const std::string kNobody = "setpriv --reuid 65534 --regid 65534 --clear-groups ";

TEST_F(Errors, AFolderThatCannotBeWrittenIsFoundBeforeTraining) {
  if (!works(kNobody + "$annulus --version")) GTEST_SKIP() << "skipped: no other user to be had";
  for (const char* mode : {"500", "000"}) {
    const Outcome outcome =
        shell("mkdir -p locked; chown 65534 locked; chmod " + std::string(mode) + " locked; " +
              kNobody + "$train --out locked/run");
    expect_one_line(outcome, 6, "locked/run: cannot be created: Permission denied; choose another");
    EXPECT_EQ(outcome.out, "") << "training had begun";
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "locked"));
  }
  // The folder is there, but nothing can be put into it.
  expect_one_line(
      shell("mkdir own; chown 65534 own; chmod 500 own; " + kNobody + "$train --out own"), 6,
      "own/");
}

TEST_F(Errors, AReadOnlyMountIsFoundBeforeTraining) {
  const std::string mount =
      "mkdir -p fixed && mount --bind fixed fixed && mount -o remount,bind,ro fixed";
  if (!works("unshare -m sh -c '" + mount + "'")) GTEST_SKIP() << "skipped: no mounts to be had";
  const Outcome outcome = shell("unshare -m sh -c \"" + mount + " && $train --out fixed/run\"");
  expect_one_line(outcome, 6,
                  "fixed/run: cannot be created: Read-only file system; choose another");
  EXPECT_EQ(outcome.out, "") << "training had begun";
}

TEST_F(Errors, AWeightFileThatCannotBeReadIsNamed) {
  if (!works(kNobody + "$annulus --version")) GTEST_SKIP() << "skipped: no other user to be had";
  const Outcome outcome =
      shell("echo x >model; chmod 000 model; " + kNobody + "$annulus eval --weights model");
  expect_one_line(outcome, 3, "model: ");
  EXPECT_NE(outcome.err.find("Permission denied"), std::string::npos) << outcome.err;
}

TEST_F(Errors, PredictionsThatCannotBeWrittenAreAnError) {
  ASSERT_EQ(shell("$train --out run").code, 0);
  expect_one_line(shell("$annulus eval --data data --weights run --predictions no/file"), 6,
                  "no/file");
}

TEST_F(Errors, AFullStdoutIsAnErrorWhateverIsPrinted) {
  for (const char* arguments : {"--help", "--version", "--help-env", "--help-exit-codes", "man",
                                "completion bash", "data info data", "doctor"})
    expect_one_line(run(std::string(arguments) + " >/dev/full"), 6, "stdout: cannot be written");
}

// A closed one is as /dev/null, and stderr may be lost too.
TEST_F(Errors, ClosedStreamsStopNothing) {
  EXPECT_EQ(shell("$train --out run >&- 2>&- <&-").code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/metrics.jsonl"));
  EXPECT_EQ(shell("$train --out other 2>/dev/full").code, 0);
}

TEST_F(Errors, TooLittleMemoryNamesTheSizeWanted) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers need addresses without a limit";
  const std::string large = "$annulus train --data synthetic --batch-size 2000 --max-steps 1 ";
  const Outcome alone = shell("ulimit -v 390625; " + large + "--out run");
  expect_one_line(alone, 4, "not enough device memory: ");
  EXPECT_NE(alone.err.find(" MiB more are wanted"), std::string::npos) << alone.err;

  const Outcome ranks = shell("ulimit -v 390625; timeout 60 " + large + "--ranks 2 --out ranks");
  EXPECT_EQ(ranks.code, 4) << ranks.err;
  EXPECT_NE(ranks.err.find("not enough device memory: "), std::string::npos) << ranks.err;
}

// An error that all ranks have is said once; one of the options before any rank is started.
TEST_F(Errors, OfSeveralRanksAreSaidOnce) {
  expect_one_line(run("train --ranks 3 --data data --schedule linear"), 2, "--schedule linear");
  const Outcome outcome = run("train --ranks 3 --data nowhere --model mlp");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  const std::string error = "annulus: nowhere: ";
  const std::size_t first = outcome.err.find(error);
  ASSERT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(error, first + 1), std::string::npos) << outcome.err;
}

// As OpenShift runs a container: a user id that nobody knows, group 0, no HOME.
TEST_F(Errors, AUserWithoutNameAndHomeWritesOnlyWhereItIsTold) {
  const std::string user = "setpriv --reuid 1000650000 --regid 0 --clear-groups env -i ";
  if (!works(user + "$annulus --version")) GTEST_SKIP() << "skipped: no other user to be had";
  const Outcome outcome = shell("mkdir out; chown 1000650000 out; umask 077; cd /; " + user +
                                "$train --out " + (folder_ / "out/run").string());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "out")) {
    const auto rights = entry.status().permissions() & std::filesystem::perms::mask;
    EXPECT_EQ(rights & std::filesystem::perms(0077), std::filesystem::perms::none) << entry.path();
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/run/model.safetensors"));
}

TEST_F(Errors, AReadOnlyRootIsEnough) {
  const std::string mount =
      "mkdir -p out && mount --bind out out && mount -o remount,bind,ro / && ! touch /x";
  if (!works("unshare -m sh -c '" + mount + " 2>/dev/null'"))
    GTEST_SKIP() << "skipped: no mounts to be had";
  const Outcome outcome = shell("unshare -m sh -c \"" + mount +
                                " 2>/dev/null && cd out && $train --ranks 2 --out run\"");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/run/model.safetensors"));
}

// The host's own name is in no /etc/hosts and no DNS; ranks of one host need it for nothing.
TEST_F(Errors, AHostThatDoesNotKnowItsOwnNameTrains) {
  const std::string host = "hostname tfd-node-0-0 && mount --bind /dev/null /etc/hosts";
  if (!works("unshare -mu sh -c '" + host + "'"))
    GTEST_SKIP() << "skipped: no host name of its own to be had";
  const Outcome outcome =
      shell("unshare -mu sh -c \"" + host + " && timeout 100 $train --ranks 2 --out run\"");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

}  // namespace
