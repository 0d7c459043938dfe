// Norms and dropout on the CPU device: bits against the number of threads, what is refused, and
// that the checker sees what they touch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "kernels/batchnorm_cudnn.h"
#include "kernels/batchnorm_graph.h"
#include "kernels/check.h"
#include "kernels/cpu/cudart/reports.h"
#include "kernels/cuda.h"
#include "kernels/cudnn_engines.h"
#include "kernels/dropout_cudnn.h"
#include "tests/kernels/cpu/bits.h"
#include "tests/kernels/cpu/numbers.h"

namespace annulus {
namespace {

namespace graph = cudnn_graph;
using test::numbers;

// Several pieces, the last one short.
constexpr BatchNormShape kShape{23, 33, 8, 20};

struct NormArrays {
  Buffer<float> x{numbers(kShape.in_size(), 1)}, dy{numbers(kShape.in_size(), 2)};
  Buffer<float> gamma{numbers(20, 3)}, beta{numbers(20, 4)};
  Buffer<float> mean{20}, inv_std{20}, statistics{40}, dgamma{20}, dbeta{20};
  Buffer<float> y{kShape.in_size()}, dx{kShape.in_size()};

  void forward(const CudnnBatchNormPlan& plan, const CudnnHandle& handle, cudaStream_t stream,
               Span<std::byte> workspace) const {
    plan.forward(handle, stream, x.cspan(), gamma.cspan(), beta.cspan(), mean.span(),
                 inv_std.span(), statistics.span(), 1, y.span(), workspace);
  }
  void backward(const CudnnBatchNormPlan& plan, const CudnnHandle& handle, cudaStream_t stream,
                Span<std::byte> workspace) const {
    plan.backward(handle, stream, x.cspan(), dy.cspan(), mean.cspan(), inv_std.cspan(),
                  gamma.cspan(), dx.span(), dgamma.span(), dbeta.span(), workspace);
  }
};

TEST(CudnnNorm, DISABLED_PrintsItsBits) {
  const CudnnHandle handle;
  const Stream stream;
  const CudnnBatchNormPlan plan(handle, kShape);
  const Buffer<std::byte> workspace(plan.workspace_bytes());
  const NormArrays arrays;
  arrays.forward(plan, handle, stream.get(), workspace.span());
  arrays.backward(plan, handle, stream.get(), workspace.span());
  stream.synchronize();
  for (const Buffer<float>* result : {&arrays.y, &arrays.statistics, &arrays.dx, &arrays.dgamma})
    std::printf("bits: %016lx\n", test::digest(result->download()));
}

TEST(CudnnDropoutMask, DISABLED_PrintsItsBits) {
  const CudnnHandle handle;
  const Stream stream;
  DropoutStates states;
  const CudnnDropoutPlan plan(handle, states.allocated(handle), 0.3f, 7, 9001);
  states.seed(handle, stream.get(), 5);
  const Buffer<float> x(numbers(std::size_t{7} * 9001, 1)), y(x.size());
  const Buffer<std::byte> mask(cudnn_dropout_mask_bytes(7, 9001));
  plan.forward(handle, stream.get(), x.cspan(), y.span(), mask.span());
  stream.synchronize();
  std::printf("bits: %016lx\n", test::digest(y.download()));
}

TEST(CudnnNorm, HasTheSameBitsWithAnyNumberOfThreads) {
  for (const char* name :
       {"CudnnNorm.DISABLED_PrintsItsBits", "CudnnDropoutMask.DISABLED_PrintsItsBits"}) {
    const std::string alone = test::bits_with_threads(name, 1);
    EXPECT_EQ(test::bits_with_threads(name, 2), alone) << name;
    EXPECT_EQ(test::bits_with_threads(name, 3), alone) << name;
  }
}

// In half types they compute in fp32 and round once: the results on numbers that a half holds are
// those of fp32, rounded.
template <class T>
class CudnnHalf : public testing::Test {
 protected:
  static std::vector<float> rounded(const std::vector<float>& values) {
    std::vector<float> result;
    for (const float value : values) result.push_back(float(T(value)));
    return result;
  }
  static std::vector<T> halves(const std::vector<float>& values) {
    std::vector<T> result;
    for (const float value : values) result.push_back(T(value));
    return result;
  }
  static std::vector<float> floats(const Buffer<T>& buffer) {
    std::vector<float> result;
    for (const T value : buffer.download()) result.push_back(float(value));
    return result;
  }

  const CudnnHandle handle_;
  const Stream stream_;
};
using Halves = testing::Types<__nv_bfloat16, __half>;
TYPED_TEST_SUITE(CudnnHalf, Halves);

TYPED_TEST(CudnnHalf, NormIsThatOfFp32RoundedOnce) {
  using T = TypeParam;
  NormArrays arrays;
  arrays.x.upload(this->rounded(arrays.x.download()));
  arrays.dy.upload(this->rounded(arrays.dy.download()));
  const CudnnBatchNormPlan exact(this->handle_, kShape);
  const CudnnBatchNormPlan half(this->handle_, kShape, kElementOf<T>);
  const Buffer<std::byte> workspace(std::max(exact.workspace_bytes(), half.workspace_bytes()));
  arrays.forward(exact, this->handle_, this->stream_.get(), workspace.span());
  arrays.backward(exact, this->handle_, this->stream_.get(), workspace.span());

  const NormArrays other;
  const Buffer<T> x(this->halves(arrays.x.download())), dy(this->halves(arrays.dy.download()));
  const Buffer<T> y(x.size()), dx(x.size());
  half.forward(this->handle_, this->stream_.get(), x.cspan(), other.gamma.cspan(),
               other.beta.cspan(), other.mean.span(), other.inv_std.span(), other.statistics.span(),
               1, y.span(), workspace.span());
  half.backward(this->handle_, this->stream_.get(), x.cspan(), dy.cspan(), other.mean.cspan(),
                other.inv_std.cspan(), other.gamma.cspan(), dx.span(), other.dgamma.span(),
                other.dbeta.span(), workspace.span());
  this->stream_.synchronize();
  EXPECT_EQ(this->floats(y), this->rounded(arrays.y.download()));
  EXPECT_EQ(this->floats(dx), this->rounded(arrays.dx.download()));
  EXPECT_EQ(other.statistics.download(), arrays.statistics.download());
  EXPECT_EQ(other.dgamma.download(), arrays.dgamma.download());
}

TYPED_TEST(CudnnHalf, DropoutIsThatOfFp32RoundedOnce) {
  using T = TypeParam;
  constexpr int kImages = 3;
  constexpr std::size_t kSample = 77;
  const std::vector<float> values = this->rounded(numbers(kImages * kSample, 1));
  const Buffer<float> x(values), y(values.size());
  const Buffer<T> half_x(this->halves(values)), half_y(values.size()), half_dx(values.size());
  DropoutStates states;
  const CudnnDropoutPlan exact(this->handle_, states.allocated(this->handle_), 0.3f, kImages,
                               kSample);
  const CudnnDropoutPlan half(this->handle_, states.allocated(this->handle_), 0.3f, kImages,
                              kSample, kElementOf<T>);
  const Buffer<std::byte> mask(cudnn_dropout_mask_bytes(kImages, kSample));
  states.seed(this->handle_, this->stream_.get(), 5);
  exact.forward(this->handle_, this->stream_.get(), x.cspan(), y.span(), mask.span());
  states.seed(this->handle_, this->stream_.get(), 5);
  half.forward(this->handle_, this->stream_.get(), half_x.cspan(), half_y.span(), mask.span());
  half.backward(this->handle_, this->stream_.get(), half_x.cspan(), half_dx.span(), mask.span());
  this->stream_.synchronize();
  EXPECT_EQ(this->floats(half_y), this->rounded(y.download()));
  EXPECT_EQ(this->floats(half_dx), this->floats(half_y));
}

TEST(CudnnNorm, AnArrayOfAnotherTypeIsRefused) {
  const CudnnHandle handle;
  const CudnnBatchNormPlan plan(handle, kShape, Element::bf16);
  const NormArrays arrays;
  const Buffer<std::byte> workspace(plan.workspace_bytes());
  try {
    arrays.forward(plan, handle, nullptr, workspace.span());
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(),
                 "CudnnBatchNormPlan::forward: an array holds fp32, the plan is for bf16");
  }
}

// Two streams race on purpose, and the device's checker must say so.
TEST(CudnnNorm, WhatItReadsAndWritesIsDeclared) {
#if defined(ANNULUS_TSAN)
  GTEST_SKIP() << "skipped: ThreadSanitizer sees the race too";
#endif
  const CudnnHandle handle;
  const Stream streams[2];
  const CudnnBatchNormPlan plan(handle, kShape);
  const Buffer<std::byte> workspace(plan.workspace_bytes());
  const NormArrays arrays;
  cpu::clear_reports();
  arrays.forward(plan, handle, streams[0].get(), workspace.span());
  EXPECT_EQ(cpu::report_count(), 0u);
  arrays.backward(plan, handle, streams[1].get(), workspace.span());  // behind no event
  const std::vector<cpu::Report> reports = cpu::reports();
  EXPECT_TRUE(std::ranges::any_of(reports, [](const cpu::Report& report) {
    return report.kind == "race" && report.message.find("cudnn norm backward") != std::string::npos;
  }));
  for (const Stream& stream : streams) stream.synchronize();
  cpu::recover_devices();
  cpu::clear_reports();
}

TEST(CudnnDropoutMask, TheStatesAreWrittenByEveryForwardCall) {
#if defined(ANNULUS_TSAN)
  GTEST_SKIP() << "skipped: ThreadSanitizer sees the race too";
#endif
  const CudnnHandle handle;
  const Stream streams[2];
  DropoutStates states;
  const CudnnDropoutPlan plan(handle, states.allocated(handle), 0.5f, 2, 30);
  states.seed(handle, streams[0].get(), 5);
  const Buffer<float> x(numbers(60, 1)), y(60);
  const Buffer<std::byte> mask(cudnn_dropout_mask_bytes(2, 30));
  cpu::clear_reports();
  plan.forward(handle, streams[0].get(), x.cspan(), y.span(), mask.span());
  EXPECT_EQ(cpu::report_count(), 0u);
  const Buffer<float> other_y(60);
  const Buffer<std::byte> other_mask(mask.size());
  plan.forward(handle, streams[1].get(), x.cspan(), other_y.span(), other_mask.span());
  EXPECT_EQ(cpu::report_count(), 1u) << "the states alone are shared";
  for (const Stream& stream : streams) stream.synchronize();
  cpu::recover_devices();
  cpu::clear_reports();
}

// A forward operation whose x is [2,8,5,5]; finalized it gives its status.
cudnnStatus_t finalized(const graph::Descriptor& y, const graph::Descriptor& scale,
                        const graph::Descriptor& epsilon) {
  const cudnnBackendNormMode_t mode = CUDNN_BATCH_NORM;
  const cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_TRAINING;
  graph::Descriptor operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, graph::nhwc_tensor(1, 2, 8, 5, 5))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, graph::channel_tensor(2, 8))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, graph::channel_tensor(3, 8))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, scale)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, graph::channel_tensor(5, 8))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y);
  return cudnnBackendFinalize(operation.get());
}

// The statuses are those of cuDNN 9.19.
TEST(CudnnNorm, RefusesTensorsThatDoNotFit) {
  const graph::Descriptor y = graph::nhwc_tensor(7, 2, 8, 5, 5);
  const graph::Descriptor scale = graph::channel_tensor(4, 8), epsilon = graph::number_by_value(6);
  EXPECT_EQ(finalized(y, scale, epsilon), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(finalized(y, graph::channel_tensor(4, 7), epsilon),
            CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  EXPECT_EQ(finalized(graph::nhwc_tensor(7, 2, 8, 5, 4), scale, epsilon),
            CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  EXPECT_EQ(finalized(y, scale, graph::channel_tensor(6, 1)), CUDNN_STATUS_BAD_PARAM);
}

// cuDNN 9.19 gives these statuses and sizes without a GPU.
TEST(CudnnDropoutMask, AsksForOneBitAnElementInWholeWords) {
  cudnnTensorDescriptor_t tensor = nullptr;
  ASSERT_EQ(cudnnCreateTensorDescriptor(&tensor), CUDNN_STATUS_SUCCESS);
  const auto bytes = [&](int n, int c) {
    std::size_t size = 0;
    EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, n, c, 1, 1),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnDropoutGetReserveSpaceSize(tensor, &size), CUDNN_STATUS_SUCCESS);
    return size;
  };
  EXPECT_EQ(bytes(1, 1), 4u);
  EXPECT_EQ(bytes(1, 1000), 128u);
  EXPECT_EQ(bytes(64, 1000), 8000u);
  EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 0, 1, 1, 1),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnDestroyTensorDescriptor(tensor), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudnnCreateDropoutDescriptor(nullptr), CUDNN_STATUS_BAD_PARAM);
  std::size_t size = 0;
  EXPECT_EQ(cudnnDropoutGetStatesSize(nullptr, &size), CUDNN_STATUS_BAD_PARAM);
}

}  // namespace
}  // namespace annulus
