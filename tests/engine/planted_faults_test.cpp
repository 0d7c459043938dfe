// The cuda preset's program as it ships, with one of its calls made wrong (planted_faults.cpp): the
// CPU device's checker names each fault, and nothing where none is planted.
#include <gtest/gtest.h>

#include "tests/engine/program.h"
#include "tests/pattern.h"

namespace {

using annulus::test::Outcome;

class PlantedFaults : public annulus::test::Program {
 protected:
  Outcome train(const std::string& fault, const std::string& arguments,
                const std::string& settings = "") const {
    return run(
        "train --model mlp --data synthetic --batch-size 23 --max-steps 4 --out run " + arguments,
        "LD_PRELOAD=" PLANTED_FAULTS " PLANTED_FAULT='" + fault + "' ANNULUS_CPU_CHECK=1 " +
            settings);
  }

  void expect_named(const std::string& fault, const std::string& arguments,
                    const std::string& report) const {
    const Outcome outcome = train(fault, arguments);
    EXPECT_TRUE(annulus::test::contains(outcome.err, "annulus cpu device: " + report))
        << fault << "\n"
        << outcome.err;
  }
};

TEST_F(PlantedFaults, NoneIsNoReport) {
  const Outcome outcome = train("", "--ranks 2", "ANNULUS_CPU_CHECK=abort");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("annulus cpu device"), std::string::npos) << outcome.err;
}

TEST_F(PlantedFaults, OneIsTheEndWhereTheFirstReportIs) {
  const Outcome outcome = train("missing event wait", "--no-graph", "ANNULUS_CPU_CHECK=abort");
  EXPECT_EQ(outcome.code, 204) << outcome.err;
}

TEST_F(PlantedFaults, AMissingEventWait) {
  expect_named(
      "missing event wait", "--no-graph",
      "race: sgd on stream \\d+ writes .* without an event or wait behind cublasGemmEx on");
}

TEST_F(PlantedFaults, MemoryFreedInUse) {
  expect_named("free in use", "--no-graph", "free while in use: cudaFree .*cudaMemcpyAsync");
}

TEST_F(PlantedFaults, AHostPointer) {
  expect_named("host pointer", "--no-graph",
               "host pointer: load<float> writes 92 bytes at 0x\\S+, which is not device memory");
}

TEST_F(PlantedFaults, TheLossReadOnTheWrongStream) {
  expect_named("loss read on the wrong stream", "--no-graph",
               "race: cudaMemcpyAsync on stream \\d+ reads .* without an event or wait behind");
}

TEST_F(PlantedFaults, AMismatchedCollective) {
  expect_named("mismatched collective", "--ranks 2", "collective mismatch: .*rank 1");
}

TEST_F(PlantedFaults, AnUnjoinedCapture) {
  expect_named("unjoined capture", "", "unjoined capture: ");
}

}  // namespace
