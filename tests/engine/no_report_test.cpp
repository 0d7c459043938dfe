// The product's own runs under the CPU device's checker, which here ends a run at its first report:
// graphs and eager steps, one rank and several, streams on threads and in a shuffled order. That a
// report would be seen: planted_faults_test.
#include <gtest/gtest.h>

#include "tests/engine/program.h"

namespace {

using annulus::test::Outcome;

struct Run {
  const char* name;
  const char* arguments;
  const char* settings;
};

void PrintTo(const Run& run, std::ostream* out) { *out << run.name; }

class NoReport : public annulus::test::Program, public testing::WithParamInterface<Run> {};

INSTANTIATE_TEST_SUITE_P(
    Runs, NoReport,
    testing::Values(
        Run{"GraphOnTwoRanks", "--model mlp --ranks 2", ""},
        Run{"GraphOnThreeRanksInHalfWords", "--model seed-cnn --ranks 3 --wire bf16", ""},
        Run{"GraphShuffled", "--model seed-cnn", "ANNULUS_CPU_MODE=shuffled:3"},
        Run{"GraphOfVirtualRanks", "--model mnist-cnn --virtual-ranks 3",
            "ANNULUS_CPU_MODE=threads"},
        Run{"EagerOnTwoRanks", "--model resnet-8 --no-graph --ranks 2", ""},
        Run{"EagerWithOneBatchNorm", "--model seed-cnn --no-graph --ranks 2 --sync-batchnorm", ""}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(NoReport, InARunOfTheProduct) {
  const Outcome outcome =
      run("train --data synthetic --batch-size 16 --max-steps 4 --out run " +
              std::string(GetParam().arguments),
          std::string("-u ANNULUS_CPU_MODE ANNULUS_CPU_CHECK=abort ") + GetParam().settings);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("annulus cpu device"), std::string::npos) << outcome.err;
}

}  // namespace
