// BatchNorm over NHWC, fused with the activation that follows and, where `pool` is set, with a 2x2
// stride-2 max-pool: y = pool(f(gamma * (x - mean) / sqrt(var + epsilon) + beta)). Ioffe & Szegedy
// 2015 (arXiv:1502.03167). Statistics are per channel over [N,H,W], two-pass in fp32. Called by
// engine/layers/batchnorm.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/activation.h"
#include "kernels/span.h"

namespace annulus {

struct BatchNormShape {
  int images, height, width, channels;
  Activation activation = Activation::none;
  bool pool = false;  // 2x2 stride 2, floor: a last odd row or column is not part of any window
  float epsilon = 1e-5f;

  SPAN_FN std::size_t rows() const { return std::size_t(images) * height * width; }
  std::size_t in_size() const { return rows() * channels; }
  std::size_t out_size() const {
    return pool ? std::size_t(images) * (height / 2) * (width / 2) * channels : in_size();
  }
};

// Floats of workspace that forward and backward need.
std::size_t batchnorm_workspace(const BatchNormShape& shape);

// Training. x[N,H,W,C] -> y; mean[C] and inv_std[C] are kept for backward.
// statistics[2C] = weight * {batch means, unbiased batch variances}: what the running statistics
// are updated with; with weight = images / global batch the sum over ranks is the global average.
// gamma[C], beta[C].
void batchnorm_forward(cudaStream_t stream, const BatchNormShape& shape, Span<const float> x,
                       Span<const float> gamma, Span<const float> beta, Span<float> mean,
                       Span<float> inv_std, Span<float> statistics, float weight, Span<float> y,
                       Span<float> workspace);

// Backward, from the forward *input* x (the pre-activation and the pool's argmax are recomputed,
// nothing else is stored; of equal maxima the first in row-major order takes the gradient). dy has
// y's shape; dx may not alias dy.
void batchnorm_backward(cudaStream_t stream, const BatchNormShape& shape, Span<const float> x,
                        Span<const float> dy, Span<const float> mean, Span<const float> inv_std,
                        Span<const float> gamma, Span<const float> beta, Span<float> dx,
                        Span<float> dgamma, Span<float> dbeta, Span<float> workspace);

// Inference with running statistics[2C] = {means, variances}.
void batchnorm_inference(cudaStream_t stream, const BatchNormShape& shape, Span<const float> x,
                         Span<const float> gamma, Span<const float> beta, Span<const float> running,
                         Span<float> y);

// running[i] = (1 - momentum) * running[i] + momentum * batch[i], for all layers' statistics at
// once.
void update_running_statistics(cudaStream_t stream, Span<const float> batch, float momentum,
                               Span<float> running);

}  // namespace annulus
