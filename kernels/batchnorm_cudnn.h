// BatchNorm through cuDNN's graph API, in training: what kernels/batchnorm.h does without
// activation and pool. Plans are made once, before the first step; the results are those of our
// kernels up to rounding. Not every GPU has it: cuDNN 9 has no engine for it before compute
// capability 8.0. Called by engine/layers/batchnorm_cudnn.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/any_span.h"
#include "kernels/batchnorm.h"
#include "kernels/conv.h"
#include "kernels/span.h"

namespace annulus {

class CudnnBatchNormPlan {
 public:
  // x, y and their gradients hold `element`. Throws DeviceError where cuDNN has no engine for the
  // shape on this device.
  CudnnBatchNormPlan(const CudnnHandle& handle, const BatchNormShape& shape,
                     Element element = Element::fp32);
  ~CudnnBatchNormPlan();
  CudnnBatchNormPlan(CudnnBatchNormPlan&&) noexcept;
  CudnnBatchNormPlan& operator=(CudnnBatchNormPlan&&) noexcept;

  std::size_t workspace_bytes() const;

  // As batchnorm_forward and batchnorm_backward; of the same sizes. workspace: at least
  // workspace_bytes(), 256-byte aligned.
  void forward(const CudnnHandle& handle, cudaStream_t stream, AnyInput x, Span<const float> gamma,
               Span<const float> beta, Span<float> mean, Span<float> inv_std,
               Span<float> statistics, float weight, AnyOutput y, Span<std::byte> workspace) const;
  void backward(const CudnnHandle& handle, cudaStream_t stream, AnyInput x, AnyInput dy,
                Span<const float> mean, Span<const float> inv_std, Span<const float> gamma,
                AnyOutput dx, Span<float> dgamma, Span<float> dbeta,
                Span<std::byte> workspace) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace annulus
