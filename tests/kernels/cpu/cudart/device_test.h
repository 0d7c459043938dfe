// The fixture of the CPU device's tests: each begins with a clean device and must have taken every
// report it caused. The process sees one small device with four threads and the checker on.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cpu/cudart/reports.h"
#include "kernels/cuda.h"

namespace annulus::test {

inline constexpr std::size_t kDeviceMemory = 96 << 20;

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    cudaGetLastError();
    cpu::clear_reports();
  }
  void TearDown() override {
    cpu::recover_devices();
    for (const auto& report : cpu::reports())
      ADD_FAILURE() << "unexpected report: " << report.kind << ": " << report.message;
  }

  // Removes the reports so far, and the failure they may have left on the device; expects them to
  // be one, of this kind, naming all `words`.
  static void expect_report(const std::string& kind, const std::vector<std::string>& words) {
    const auto reports = cpu::reports();
    cpu::clear_reports();
    cpu::recover_devices();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].kind, kind);
    for (const std::string& word : words)
      EXPECT_NE(reports[0].message.find(word), std::string::npos)
          << "'" << word << "' is not in: " << reports[0].message;
  }
};

}  // namespace annulus::test
