// Activations as kernels of their own, and the choice that BatchNorm fuses.
#pragma once

#include <cuda_runtime.h>

#include "kernels/span.h"

namespace annulus {

// gelu is the exact form, x * Phi(x) (Hendrycks & Gimpel 2016, arXiv:1606.08415).
enum class Activation { none, relu, gelu };

// y[i] = f(x[i]); any shape. y may be x.
void activation_forward(cudaStream_t stream, Activation f, Span<const float> x, Span<float> y);

// dx[i] = dy[i] * f'(x[i]), from the forward input. dx may be dy.
void activation_backward(cudaStream_t stream, Activation f, Span<const float> x,
                         Span<const float> dy, Span<float> dx);

// y[i] = a[i] + b[i]: the residual add, and the sum of two gradients. y may be a.
void add(cudaStream_t stream, Span<const float> a, Span<const float> b, Span<float> y);

}  // namespace annulus
