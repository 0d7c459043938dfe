// Max-pool and global average pool over NHWC of type T: float, __nv_bfloat16 or __half; sums are
// float. Called by engine/layers/pool; the 2x2 max-pool behind a BatchNorm is fused there instead
// (kernels/batchnorm.h).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/span.h"

namespace annulus {

struct PoolShape {
  int images, height, width, channels;
  int window = 2, stride = 2,
      padding = 0;  // floor division, as PyTorch's default; padding never wins

  SPAN_FN int out_height() const { return (height + 2 * padding - window) / stride + 1; }
  SPAN_FN int out_width() const { return (width + 2 * padding - window) / stride + 1; }
  std::size_t in_size() const { return std::size_t(images) * height * width * channels; }
  std::size_t out_size() const {
    return std::size_t(images) * out_height() * out_width() * channels;
  }
};

// y[N,P,Q,C] = max of the window; argmax = its place in the window (row * window + column), the
// first of equal ones.
template <class T>
void maxpool_forward(cudaStream_t stream, const PoolShape& shape, InputSpan<T> x, Span<T> y,
                     Span<std::uint8_t> argmax);

// dx[N,H,W,C]: each input gathers from the windows that chose it (no atomics: the same bits every
// time).
template <class T>
void maxpool_backward(cudaStream_t stream, const PoolShape& shape, InputSpan<T> dy,
                      Span<const std::uint8_t> argmax, Span<T> dx);

// y[N,C] = mean over [H,W] of x[N,H,W,C]; `pixels` = H * W.
template <class T>
void global_average_forward(cudaStream_t stream, int images, int pixels, int channels,
                            InputSpan<T> x, Span<T> y);
template <class T>
void global_average_backward(cudaStream_t stream, int images, int pixels, int channels,
                             InputSpan<T> dy, Span<T> dx);

}  // namespace annulus
