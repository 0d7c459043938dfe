// Span checks, compiled in whatever the preset: an index past a span ends its kernel with a report.
#if !defined(ANNULUS_CHECKED_SPANS)
#define ANNULUS_CHECKED_SPANS
#endif

#include <gtest/gtest.h>

#include "kernels/simt.h"
#include "tests/kernels/cpu/cudart/device_test.h"

namespace annulus::test {
namespace {

__global__ void overrun_pieces(std::size_t extra, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i + extra] = 1;
}

__global__ void overrun_block(std::size_t extra, Span<float> y) {
  y[threadIdx.x + extra] = 1;
  __syncthreads();
}

SIMT_ELEMENTWISE(overrun_pieces)
SIMT_KERNEL(overrun_block)

class SpanTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cudaMalloc(&data, kBytes), cudaSuccess);
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  }
  void TearDown() override {
    cudaStreamDestroy(stream);
    cudaFree(data);
    DeviceTest::TearDown();
  }

  // The span is the first half of the allocation: the overrun stays inside it.
  static constexpr std::size_t kCount = 100000, kBytes = 2 * kCount * sizeof(float);
  float* data = nullptr;
  cudaStream_t stream = nullptr;
};

TEST_F(SpanTest, OutOfSpanWriteInAnElementwiseKernel) {
  launch(overrun_pieces, grid_for(kCount), kBlock, 0, stream, std::size_t{1},
         Span<float>{data, kCount});
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  expect_report("out of span", {"overrun_pieces", "index 100000 of a span of 100000 elements"});
}

TEST_F(SpanTest, OutOfSpanWriteInAnEmulatedBlockNamesTheThread) {
  launch(overrun_block, 2, 64, 0, stream, std::size_t{1}, Span<float>{data, 64});
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  expect_report("out of span", {"overrun_block", "index 64 of a span of 64 elements",
                                "thread (63,0,0) of block (0,0,0)"});
}

TEST_F(SpanTest, InsideIsQuiet) {
  launch(overrun_pieces, grid_for(kCount), kBlock, 0, stream, std::size_t{0},
         Span<float>{data, kCount});
  launch(overrun_block, 2, 64, 0, stream, std::size_t{0}, Span<float>{data, 64});
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

}  // namespace
}  // namespace annulus::test
