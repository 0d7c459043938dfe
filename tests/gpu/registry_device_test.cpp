// Every kernel of the registry against its double-precision reference, on the device that is there:
// what registry_test shows on the CPU device, without asking the CPU device anything.
#include <gtest/gtest.h>

#include "tests/kernels/registry_check.h"

namespace annulus::registry {
namespace {

class OnDevice : public testing::TestWithParam<std::size_t> {
 protected:
  static void expect_none(const Failures& failures) {
    for (const std::string& line : failures) ADD_FAILURE() << line;
  }
};

TEST_P(OnDevice, KernelAgreesWithReference) {
  const Entry& entry = entries()[GetParam()];
  for (const MakeCase& make : entry.tested) expect_none(check_case(entry, make()));
}

INSTANTIATE_TEST_SUITE_P(All, OnDevice, testing::Range<std::size_t>(0, entries().size()),
                         [](const auto& info) { return test_name(entries()[info.param]); });

}  // namespace
}  // namespace annulus::registry
