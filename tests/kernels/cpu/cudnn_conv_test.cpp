// What the registry's cases cannot show of convolutions: bits against the number of threads,
// dilations and uneven paddings, one plan on two streams, capture.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kernels/conv.h"
#include "kernels/cpu/cudart/reports.h"
#include "kernels/cuda.h"
#include "kernels/cudnn_engines.h"
#include "kernels/cudnn_graph.h"
#include "tests/kernels/cpu/bits.h"
#include "tests/kernels/cpu/numbers.h"

namespace annulus {
namespace {

using test::numbers;

// Enough pixels that eight partial weight gradients are worth a sum, of 23 images that 8 does not
// divide.
constexpr ConvShape kUneven{.images = 23,
                            .height = 33,
                            .width = 32,
                            .in_channels = 8,
                            .out_channels = 16,
                            .kernel_h = 3,
                            .kernel_w = 3,
                            .pad_h = 1,
                            .pad_w = 1};

// One plan with its own memory.
struct PlannedRun {
  PlannedRun(const CudnnHandle& handle, const ConvShape& shape, ConvKind kind)
      : plan(handle, shape, kind),
        a(numbers(kind == ConvKind::data_gradient ? shape.y_size() : shape.x_size(), 1)),
        b(numbers(kind == ConvKind::weight_gradient ? shape.y_size() : shape.w_size(), 2)),
        bias(numbers(std::size_t(shape.out_channels), 3)),
        out(kind == ConvKind::weight_gradient ? shape.w_size()
            : kind == ConvKind::data_gradient ? shape.x_size()
                                              : shape.y_size()),
        workspace(plan.workspace_bytes()) {}

  void enqueue(const CudnnHandle& handle, cudaStream_t stream) const {
    plan.run(handle, stream, a.cspan(), b.cspan(), bias.cspan(), out.span(), workspace.span());
  }

  ConvPlan plan;
  Buffer<float> a, b, bias, out;
  Buffer<std::byte> workspace;
};

TEST(CudnnConvolution, DISABLED_PrintsItsBits) {
  const CudnnHandle handle;
  const Stream stream;
  for (ConvKind kind : {ConvKind::forward, ConvKind::forward_bias_relu, ConvKind::data_gradient,
                        ConvKind::weight_gradient}) {
    const PlannedRun run(handle, kUneven, kind);
    run.enqueue(handle, stream.get());
    stream.synchronize();
    std::printf("bits: %016lx\n", test::digest(run.out.download()));
  }
}

TEST(CudnnConvolution, HasTheSameBitsWithAnyNumberOfThreads) {
  const std::string name = "CudnnConvolution.DISABLED_PrintsItsBits";
  const std::string alone = test::bits_with_threads(name, 1);
  EXPECT_EQ(std::count(alone.begin(), alone.end(), '\n'), 4);
  EXPECT_EQ(test::bits_with_threads(name, 2), alone);
  EXPECT_EQ(test::bits_with_threads(name, 3), alone);
}

TEST(CudnnConvolution, OnePlanRunsOnTwoStreamsAtOnce) {
  const CudnnHandle handle;
  const Stream streams[2];
  const PlannedRun first(handle, kUneven, ConvKind::weight_gradient);
  const Buffer<float> second_out(first.out.size());
  const Buffer<std::byte> second_workspace(first.workspace.size());
  for (int repeat = 0; repeat < 3; ++repeat) {
    first.enqueue(handle, streams[0].get());
    first.plan.run(handle, streams[1].get(), first.a.cspan(), first.b.cspan(), {},
                   second_out.span(), second_workspace.span());
  }
  for (const Stream& stream : streams) stream.synchronize();
  EXPECT_EQ(first.out.download(), second_out.download());
  EXPECT_EQ(cpu::report_count(), 0u);
}

TEST(CudnnConvolution, IsCapturedAndReplayed) {
  const CudnnHandle handle;
  const Stream stream;
  const PlannedRun run(handle, kUneven, ConvKind::forward);
  run.enqueue(handle, stream.get());
  stream.synchronize();
  const std::vector<float> expected = run.out.download();

  cudaGraph_t captured = nullptr;
  cudaGraphExec_t replay = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  run.enqueue(handle, stream.get());
  CUDA_CHECK(cudaStreamEndCapture(stream.get(), &captured));
  CUDA_CHECK(cudaMemsetAsync(run.out.span().data, 0, run.out.bytes(), stream.get()));
  CUDA_CHECK(cudaGraphInstantiate(&replay, captured, 0));
  CUDA_CHECK(cudaGraphLaunch(replay, stream.get()));
  stream.synchronize();
  EXPECT_EQ(run.out.download(), expected);
  EXPECT_EQ(cpu::report_count(), 0u);
  CUDA_CHECK(cudaGraphExecDestroy(replay));
  CUDA_CHECK(cudaGraphDestroy(captured));
}

// x [1,1,7,2] and w [3,1,2,2], dilated by 2 along the row, padded by 2 before and 1 after: y
// [1,1,8,3].
TEST(CudnnConvolution, HasDilationsAndPaddingsOfTheirOwn) {
  namespace graph = cudnn_graph;
  const CudnnHandle handle;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  graph::Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t(2))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 2})
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {1, 1})
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {0, 2})
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {0, 1})
      .finalize();
  const graph::Descriptor plan =
      graph::plan(handle.get(),
                  {graph::convolution_forward(convolution, graph::nhwc_tensor(1, 1, 2, 1, 7),
                                              graph::nhwc_tensor(2, 3, 2, 1, 2),
                                              graph::nhwc_tensor(3, 1, 3, 1, 8))},
                  {.reduced_inputs = false});
  const std::vector<float> x = numbers(7 * 2, 1), w = numbers(3 * 2 * 2, 2);
  const Buffer<float> device_x(x), device_w(w), device_y(8 * 3);
  const Buffer<std::byte> workspace(std::size_t(graph::workspace_bytes(plan)));
  const graph::Descriptor pack = graph::variant_pack(
      {1, 2, 3}, {device_x.span().data, device_w.span().data, device_y.span().data},
      workspace.span().data);
  CUDNN_CHECK(cudnnBackendExecute(handle.get(), plan.get(), pack.get()));
  CUDA_CHECK(cudaDeviceSynchronize());

  const std::vector<float> y = device_y.download();
  for (std::size_t column = 0; column < 8; ++column) {
    for (std::size_t filter = 0; filter < 3; ++filter) {
      double expected = 0;
      for (std::size_t tap = 0; tap < 2; ++tap) {
        const std::size_t padded = column + 2 * tap;  // 2 zeros, 7 columns, 1 zero
        if (padded < 2 || padded >= 9) continue;
        for (std::size_t channel = 0; channel < 2; ++channel)
          expected +=
              double(x[(padded - 2) * 2 + channel]) * double(w[(filter * 2 + tap) * 2 + channel]);
      }
      EXPECT_NEAR(y[column * 3 + filter], expected, 1e-6) << column << ' ' << filter;
    }
  }
}

TEST(CudnnConvolution, RefusesASmallWorkspaceBeforeItIsQueued) {
  const CudnnHandle handle;
  const Stream stream;
  const PlannedRun run(handle, kUneven, ConvKind::forward);
  EXPECT_THROW(run.plan.run(handle, stream.get(), run.a.cspan(), run.b.cspan(), {}, run.out.span(),
                            run.workspace.span().subspan(0, run.workspace.size() - 1)),
               DeviceError);
}

}  // namespace
}  // namespace annulus
