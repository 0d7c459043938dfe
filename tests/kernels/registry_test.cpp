// Every kernel of the registry against its reference, and every gradient against central
// differences; then proof that the comparison sees a wrong formula, entry by entry.
#include "kernels/registry/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/cudart/reports.h"
#include "tests/kernels/registry_check.h"

namespace annulus::registry {
namespace {

class Registry : public testing::TestWithParam<std::size_t> {
 protected:
  const Entry& entry() const { return entries()[GetParam()]; }
};

std::string all_lines(const Failures& failures) {
  std::string text;
  for (const std::string& line : failures) text += line + "\n";
  return text;
}

TEST_P(Registry, KernelAgreesWithReference) {
  cpu::clear_reports();
  EXPECT_EQ(all_lines(check_entry(entry())), "");
  EXPECT_EQ(cpu::report_count(), 0u);
}

TEST_P(Registry, GradientAgreesWithCentralDifferences) {
  EXPECT_EQ(all_lines(check_gradient(entry())), "");
}

bool all_zero(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

// What a kernel without any error stores.
Values stored(const Array& array, Values values) {
  if (array.half_type)
    for (double& value : values) value = array.half_type->round(value);
  return values;
}

// A reference that is off by a thousandth, in all elements or in the largest one, must not pass;
// where a half type is stored, by four of its roundings.
TEST_P(Registry, WrongFormulaFails) {
  const Case c = entry().tested[entry().tested.size() / 2]();
  const Arrays reference = c.reference(c.inputs());
  for (const Array& array : c.arrays()) {
    if (!array.is_output()) continue;
    const Values& right = reference.at(array.name);
    if (all_zero(right)) continue;
    const Values got = stored(array, right);
    const double wrong = 1 + (array.half_type ? 4 * array.half_type->unit_roundoff() : 1e-3);
    ASSERT_TRUE(compare(array, got, right).empty());

    Values scaled = right;
    for (double& value : scaled) value *= wrong;
    EXPECT_FALSE(compare(array, got, scaled).empty())
        << entry().name << ": the tolerance of " << array.name << " hides an error of "
        << wrong - 1;

    Values one_wrong = right;
    std::max_element(one_wrong.begin(), one_wrong.end(),
                     [](double a, double b) { return std::fabs(a) < std::fabs(b); })[0] *= wrong;
    EXPECT_FALSE(compare(array, got, one_wrong).empty())
        << entry().name << ": one wrong element of " << array.name << " is not seen";
  }
}

TEST_P(Registry, WrongGradientFails) {
  if (!entry().gradient) return;
  const GradientCheck right = entry().gradient();
  GradientCheck wrong = right;
  wrong.gradient = [&right](const Arrays& inputs) {
    Arrays gradients = right.gradient(inputs);
    for (auto& [name, values] : gradients)
      for (double& value : values) value *= 1.001;
    return gradients;
  };
  EXPECT_FALSE(check_gradient(entry().name, wrong).empty());
}

// What the device would do with a kernel that writes one element too many or into its input.
TEST(DeviceArraysTest, DamageIsSeen) {
  Case c("size=4");
  c.input("x", {1, 2, 3, 4});
  c.output("y", 4, {});
  DeviceArrays device(c);
  EXPECT_TRUE(device.damaged().empty());

  const auto put = [](float* where, float value) {
    CUDA_CHECK(cudaMemcpy(where, &value, sizeof(value), cudaMemcpyHostToDevice));
  };
  put(device.span("y").data + 4, 0.f);
  EXPECT_EQ(device.damaged(), std::vector<std::string>{"y"});
  device.reset();
  put(device.span("y").data - 1, 0.f);
  EXPECT_EQ(device.damaged(), std::vector<std::string>{"y"});
  device.reset();
  put(device.span("x").data + 2, 7.f);
  EXPECT_EQ(device.damaged(), std::vector<std::string>{"x"});
}

TEST(DeviceArraysTest, UnwrittenOutputIsNaN) {
  Case c("size=4");
  c.output("y", 4, {1e9, 1e9, "loose"});
  const DeviceArrays device(c);
  EXPECT_FALSE(compare(c.arrays()[0], device.download("y"), {0, 0, 0, 0}).empty());
}

INSTANTIATE_TEST_SUITE_P(All, Registry, testing::Range<std::size_t>(0, entries().size()),
                         [](const auto& info) { return test_name(entries()[info.param]); });

}  // namespace
}  // namespace annulus::registry
