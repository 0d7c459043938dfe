// Convolution through cuDNN's graph API: a ConvPlan is made once, before the first step, and run by
// the conv layer. NHWC activations, KRSC weights, cross-correlation. cuDNN developer guide, "Graph
// API".
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <memory>

#include "kernels/any_span.h"
#include "kernels/precision.h"
#include "kernels/span.h"

namespace annulus {

// Which of cuDNN's engines plans are made of: all, or those that give the same bits on every run.
enum class Engines { any, deterministic };

class CudnnHandle {
 public:
  explicit CudnnHandle(Engines engines = Engines::any);
  ~CudnnHandle();
  CudnnHandle(CudnnHandle&& other) noexcept;
  CudnnHandle& operator=(CudnnHandle&&) = delete;
  cudnnHandle_t get() const { return handle_; }
  Engines engines() const { return engines_; }

 private:
  cudnnHandle_t handle_ = nullptr;
  Engines engines_;
};

struct ConvShape {
  int images, height, width, in_channels, out_channels;
  int kernel_h, kernel_w, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;

  int out_height() const { return (height + 2 * pad_h - kernel_h) / stride_h + 1; }
  int out_width() const { return (width + 2 * pad_w - kernel_w) / stride_w + 1; }
  std::size_t x_size() const { return std::size_t(images) * height * width * in_channels; }
  std::size_t y_size() const {
    return std::size_t(images) * out_height() * out_width() * out_channels;
  }
  std::size_t w_size() const {
    return std::size_t(out_channels) * kernel_h * kernel_w * in_channels;
  }
  double flops() const { return 2.0 * double(y_size()) * kernel_h * kernel_w * in_channels; }
};

enum class ConvKind {
  forward,            // x, w -> y
  forward_bias,       // x, w, bias -> y
  forward_bias_relu,  // x, w, bias -> y
  data_gradient,      // dy, w -> dx
  weight_gradient,    // x, dy -> dw
};

// In half precisions x, w, y, dy and dx are halves and sums are fp32. bias and dw are fp32 in every
// precision, but on their way they are rounded to halves, in the workspace: no engine reads halves
// and writes an fp32 dw, and those that take an fp32 bias beside halves are compiled by the driver
// at run time.
class ConvPlan {
 public:
  ConvPlan(const CudnnHandle& handle, const ConvShape& shape, ConvKind kind,
           const Precision& precision = kFp32);
  ~ConvPlan();
  ConvPlan(ConvPlan&&) noexcept;
  ConvPlan& operator=(ConvPlan&&) noexcept;

  std::size_t workspace_bytes() const;

  // a, b, out as the comments of ConvKind name them; bias[K] only where it says so. workspace: at
  // least workspace_bytes(). Throws DeviceError, for one where an element is not the plan's.
  void run(const CudnnHandle& handle, cudaStream_t stream, AnyInput a, AnyInput b,
           Span<const float> bias, AnyOutput out, Span<std::byte> workspace) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace annulus
