// Which engines plans are made of, on a device whose heuristics like one best that is not
// deterministic.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/conv.h"
#include "kernels/cuda.h"
#include "tests/kernels/cpu/numbers.h"

namespace annulus {
namespace {

// Before the first CUDA call of the process.
const bool kUnsteady = setenv("ANNULUS_CPU_UNSTEADY_ENGINE", "1", 1) == 0;

constexpr ConvShape kShape{.images = 2,
                           .height = 5,
                           .width = 5,
                           .in_channels = 3,
                           .out_channels = 4,
                           .kernel_h = 3,
                           .kernel_w = 3};

bool gives_the_same_bits(Engines engines, ConvKind kind) {
  const CudnnHandle handle(engines);
  const ConvPlan plan(handle, kShape, kind);
  const bool data = kind == ConvKind::data_gradient, weight = kind == ConvKind::weight_gradient;
  const Buffer<float> a(test::numbers(data ? kShape.y_size() : kShape.x_size(), 1));
  const Buffer<float> b(test::numbers(weight ? kShape.y_size() : kShape.w_size(), 2));
  Buffer<float> out(data ? kShape.x_size() : weight ? kShape.w_size() : kShape.y_size());
  Buffer<std::byte> workspace(plan.workspace_bytes());
  const Stream stream;
  const auto run = [&] {
    plan.run(handle, stream.get(), a.cspan(), b.cspan(), {}, out.span(), workspace.span());
    stream.synchronize();
    return out.download();
  };
  return run() == run();
}

TEST(CudnnEngines, DeterministicOnesAreTakenWhereTheyAreAskedFor) {
  ASSERT_TRUE(kUnsteady);
  for (const ConvKind kind :
       {ConvKind::forward, ConvKind::data_gradient, ConvKind::weight_gradient}) {
    EXPECT_FALSE(gives_the_same_bits(Engines::any, kind)) << "the device has no unsteady engine";
    EXPECT_TRUE(gives_the_same_bits(Engines::deterministic, kind));
  }
}

}  // namespace
}  // namespace annulus
