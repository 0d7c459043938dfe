// Activations as kernels of their own, and the choice that BatchNorm fuses.
#pragma once

#include <cuda_runtime.h>

#include "kernels/span.h"

namespace annulus {

// gelu is the exact form, x * Phi(x) (Hendrycks & Gimpel 2016, arXiv:1606.08415).
enum class Activation { none, relu, gelu };

// T: float, __nv_bfloat16 or __half, as everywhere where activations pass. Computed in float,
// rounded once to T.

// y[i] = f(x[i]); any shape. y may be x.
template <class T>
void activation_forward(cudaStream_t stream, Activation f, InputSpan<T> x, Span<T> y);

// dx[i] = dy[i] * f'(x[i]), from the forward input. dx may be dy.
template <class T>
void activation_backward(cudaStream_t stream, Activation f, InputSpan<T> x, InputSpan<T> dy,
                         Span<T> dx);

// y[i] = a[i] + b[i]: the residual add, and the sum of two gradients. y may be a.
template <class T>
void add(cudaStream_t stream, InputSpan<T> a, InputSpan<T> b, Span<T> y);

}  // namespace annulus
