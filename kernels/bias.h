// Per-channel bias over rows of channels: [rows,C] = NHWC with the first three axes folded.
#pragma once

#include <cuda_runtime.h>

#include "kernels/span.h"

namespace annulus {

// y[r,c] = x[r,c] + bias[c]. y may be x.
void bias_forward(cudaStream_t stream, Span<const float> x, Span<const float> bias, Span<float> y);

// Floats of workspace that bias_gradient needs for `rows` x `channels`.
std::size_t bias_gradient_workspace(std::size_t rows, std::size_t channels);

// dbias[c] = sum over rows of dy[r,c], in an order fixed by the shape alone.
void bias_gradient(cudaStream_t stream, Span<const float> dy, Span<float> dbias,
                   Span<float> workspace);

}  // namespace annulus
