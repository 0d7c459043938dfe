// Too little device memory, as the program says it: one line with the bytes wanted, in use and free
// and the batch that would fit, code 4; and the batch that it names does fit.
#include <gtest/gtest.h>

#include "tests/engine/program.h"
#include "tests/pattern.h"

namespace {

using annulus::test::Outcome;

class Memory : public annulus::test::Program {
 protected:
  Outcome train(std::size_t mebibytes, int batch, const std::string& more) const {
    std::filesystem::remove_all(folder_ / "run");
    return run_within(mebibytes, batch, "train --max-steps 2 --out run " + more);
  }

  Outcome run_within(std::size_t mebibytes, int batch, const std::string& command) const {
    return run(command + " --data synthetic --batch-size " + std::to_string(batch),
               "ANNULUS_CPU_CHECK=0 ANNULUS_CPU_MEMORY=" + std::to_string(mebibytes << 20));
  }

  // The batch that a refusal of `batch` names.
  static int named(const Outcome& outcome, std::size_t mebibytes, int batch) {
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    const auto lines = annulus::test::all_matches(
        outcome.err, "annulus: not enough device memory: [0-9.]+ MiB more are wanted, [0-9.]+ of " +
                         std::to_string(mebibytes) +
                         "\\.0 MiB are in use, [0-9.]+ are free; --batch-size " +
                         std::to_string(batch) + " does not fit, (\\d+) would\n");
    EXPECT_EQ(lines.size(), 1u) << outcome.err;
    return lines.empty() ? 0 : std::stoi(lines[0][1]);
  }

  void expect_named_batch_to_be_the_largest(std::size_t mebibytes, int batch,
                                            const std::string& arguments) const {
    const int fits = named(train(mebibytes, batch, arguments), mebibytes, batch);
    ASSERT_GT(fits, batch / 4);
    const Outcome fitting = train(mebibytes, fits, arguments);
    EXPECT_EQ(fitting.code, 0) << fitting.err;
    for (const int more : {fits + 1, 2 * fits})
      EXPECT_EQ(named(train(mebibytes, more, arguments), mebibytes, more), fits);
  }
};

TEST_F(Memory, TheBatchThatWouldFitDoesAndOneMoreDoesNot) {
  expect_named_batch_to_be_the_largest(100, 1000, "--model mlp");
}

TEST_F(Memory, WithTheWorkspacesOfConvolutions) {
  expect_named_batch_to_be_the_largest(300, 200, "--model seed-cnn");
}

TEST_F(Memory, OnSeveralRanks) {
  const int fits = named(train(100, 1000, "--model mlp --ranks 2"), 100, 1000);
  EXPECT_EQ(train(100, fits, "--model mlp --ranks 2").code, 0);
}

TEST_F(Memory, OfAnEvaluation) {
  ASSERT_EQ(train(1000, 100, "--model mlp").code, 0);
  const int fits = named(run_within(64, 2000, "eval --weights run"), 64, 2000);
  EXPECT_EQ(run_within(64, fits, "eval --weights run").code, 0);
}

// What no batch changes: the data alone are more.
TEST_F(Memory, WhereNoBatchFits) {
  const Outcome outcome = train(30, 20, "--model mlp");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("are free; use a device with more memory"), std::string::npos)
      << outcome.err;
}

}  // namespace
