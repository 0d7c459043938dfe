// Dropout through cuDNN (cudnnDropout*; cuDNN developer guide, "cudnn_ops library"). Its random
// numbers come from generator states on the device, which every forward call moves on; the mask is
// kept for the backward call. Other than in kernels/dropout.h an element's fate depends on all
// calls before and on the device, not on its place in the global batch. Called by engine/device,
// engine/step and engine/layers/dropout_cudnn.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/any_span.h"
#include "kernels/conv.h"
#include "kernels/cuda.h"
#include "kernels/span.h"

namespace annulus {

// The generator states that all dropout layers of a device share: one stream of calls moves them
// on. They are allocated when the first plan asks for them, before the first step.
class DropoutStates {
 public:
  Span<std::byte> allocated(const CudnnHandle& handle);

  // Starts them from `seed`, on the stream; nothing where no plan has asked for them. Slow, and not
  // to be captured: once an epoch.
  void seed(const CudnnHandle& handle, cudaStream_t stream, std::uint64_t seed) const;

 private:
  Buffer<std::byte> states_;
};

// The mask of `images` samples of `sample_size` elements of any type.
std::size_t cudnn_dropout_mask_bytes(int images, std::size_t sample_size);

class CudnnDropoutPlan {
 public:
  // `states` must outlive the plan. rate in [0,1). What is dropped holds `element`.
  CudnnDropoutPlan(const CudnnHandle& handle, Span<std::byte> states, float rate, int images,
                   std::size_t sample_size, Element element = Element::fp32);
  ~CudnnDropoutPlan();
  CudnnDropoutPlan(CudnnDropoutPlan&&) noexcept;
  CudnnDropoutPlan& operator=(CudnnDropoutPlan&&) noexcept;

  // y[i] = kept ? x[i] / (1 - rate) : 0, under a new mask. y may not be x.
  void forward(const CudnnHandle& handle, cudaStream_t stream, AnyInput x, AnyOutput y,
               Span<std::byte> mask) const;
  // dx[i] = kept ? dy[i] / (1 - rate) : 0, under the mask that forward wrote. dx may not be dy.
  void backward(const CudnnHandle& handle, cudaStream_t stream, AnyInput dy, AnyOutput dx,
                Span<std::byte> mask) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace annulus
