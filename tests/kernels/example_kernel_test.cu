// The kernel of docs/custom-kernels.md, tested as the page says; the page shows this file from the
// next line on, which custom_kernels_page_test keeps true.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/math.h"
#include "kernels/registry/registry.h"
#include "kernels/simt.h"
#include "tests/kernels/registry_check.h"

namespace annulus {

// 1. The kernel and its launcher (kernels/swish.cu; declared in kernels/swish.h).
namespace swish_kernel {

__global__ void forward(Span<const float> x, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = x[i] / (1.f + exp_approx(-x[i]));
}
SIMT_ELEMENTWISE(forward)

}  // namespace swish_kernel

// y[i] = x[i] * sigmoid(x[i]); swish (Ramachandran et al. 2017, arXiv:1710.05941). y may be x.
void swish(cudaStream_t stream, Span<const float> x, Span<float> y) {
  if (y.empty()) return;
  launch(swish_kernel::forward, grid_for(y.size), kBlock, 0, stream, x, y);
}

// 2. Its entry (kernels/registry/swish.cpp).
namespace registry {

Case swish_case(std::size_t size) {
  Case c("size=" + std::to_string(size));
  c.flops = 20. * static_cast<double>(size);
  c.input("x", uniform_values(size, -6, 6, 1));
  c.output("y", size, {0, 6 * kUnitRoundoff, "exp_approx: four units; the sum and the quotient"});
  c.launch = [](cudaStream_t stream, const DeviceArrays& device) {
    swish(stream, device.span("x"), device.span("y"));
  };
  c.reference = [](const Arrays& in) {
    Values y;
    for (double x : in.at("x")) y.push_back(x / (1 + std::exp(-x)));
    return Arrays{{"y", y}};
  };
  return c;
}

std::vector<Entry> swish_entries() {
  Entry entry{.name = "swish"};
  for (std::size_t size : {1, 255, 10007}) entry.tested.push_back([=] { return swish_case(size); });
  entry.timed.push_back([] { return swish_case(1 << 21); });
  return {entry};
}

// 3. Nothing: registry_test and bench_kernels walk all entries. On its own the test is this.
TEST(Swish, AgreesWithItsReference) { EXPECT_EQ(check_entry(swish_entries().front()), Failures{}); }

}  // namespace registry
}  // namespace annulus
