// A test during which the CPU device may report nothing. Used by the tests of whole steps.
#pragma once

#include <gtest/gtest.h>

#include "kernels/cpu/cudart/reports.h"

namespace annulus::test {

// Test: testing::Test, or one with parameters.
template <class Test>
class NoReports : public Test {
 protected:
  void SetUp() override { cpu::clear_reports(); }
  void TearDown() override {
    for (const cpu::Report& report : cpu::reports())
      ADD_FAILURE() << report.kind << ": " << report.message;
  }
};

}  // namespace annulus::test
