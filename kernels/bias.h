// Per-channel bias over rows of channels: [rows,C] = NHWC with the first three axes folded.
#pragma once

#include <cuda_runtime.h>

#include "kernels/span.h"

namespace annulus {

// T: float, __nv_bfloat16 or __half; bias and its gradient are float.

// y[r,c] = x[r,c] + bias[c]. y may be x.
template <class T>
void bias_forward(cudaStream_t stream, InputSpan<T> x, Span<const float> bias, Span<T> y);

// Floats of workspace that bias_gradient needs for `rows` x `channels`.
std::size_t bias_gradient_workspace(std::size_t rows, std::size_t channels);

// dbias[c] = sum over rows of dy[r,c], in an order fixed by the shape alone.
template <class T>
void bias_gradient(cudaStream_t stream, Span<const T> dy, Span<float> dbias, Span<float> workspace);
template <class T>
void bias_gradient(cudaStream_t stream, Span<T> dy, Span<float> dbias,
                   Span<float> workspace) requires(!std::is_const_v<T>) {
  bias_gradient(stream, Span<const T>(dy), dbias, workspace);
}

}  // namespace annulus
