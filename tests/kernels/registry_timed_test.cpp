// What bench/kernels times is also right: the timed cases of every entry against their references.
#include <gtest/gtest.h>

#include "tests/kernels/registry_check.h"

namespace annulus::registry {
namespace {

TEST(RegistryTimed, KernelsAgreeWithReferences) {
  for (const Entry& entry : entries()) EXPECT_EQ(check_timed_cases(entry), Failures{});
}

}  // namespace
}  // namespace annulus::registry
