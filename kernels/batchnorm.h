// BatchNorm over NHWC, fused with the activation that follows and, where `pool` is set, with a 2x2
// stride-2 max-pool: y = pool(f(gamma * (x - mean) / sqrt(var + epsilon) + beta)). Ioffe & Szegedy
// 2015 (arXiv:1502.03167). Statistics are per channel over [N,H,W], two-pass in fp32. x, y and
// their gradients are of type T: float, __nv_bfloat16 or __half; all else is float. Called by
// engine/layers/batchnorm.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

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
template <class T>
void batchnorm_forward(cudaStream_t stream, const BatchNormShape& shape, InputSpan<T> x,
                       Span<const float> gamma, Span<const float> beta, Span<float> mean,
                       Span<float> inv_std, Span<float> statistics, float weight, Span<T> y,
                       Span<float> workspace);

// Backward, from the forward *input* x (the pre-activation and the pool's argmax are recomputed,
// nothing else is stored; of equal maxima the first in row-major order takes the gradient). dy has
// y's shape; dx may not alias dy.
template <class T>
void batchnorm_backward(cudaStream_t stream, const BatchNormShape& shape, InputSpan<T> x,
                        InputSpan<T> dy, Span<const float> mean, Span<const float> inv_std,
                        Span<const float> gamma, Span<const float> beta, Span<T> dx,
                        Span<float> dgamma, Span<float> dbeta, Span<float> workspace);

// The same in parts, for statistics over the images of all ranks: between the parts the caller sums
// over ranks. moments[2C + 1] = {means, sums of squared deviations from them, number of values a
// channel}; no images give zeros.
SPAN_FN constexpr std::size_t batchnorm_moments_size(int channels) {
  return 2 * std::size_t(channels) + 1;
}
template <class T>
void batchnorm_moments(cudaStream_t stream, const BatchNormShape& shape, Span<const T> x,
                       Span<float> moments, Span<float> workspace);
template <class T>
void batchnorm_moments(cudaStream_t stream, const BatchNormShape& shape, Span<T> x,
                       Span<float> moments, Span<float> workspace) requires(!std::is_const_v<T>) {
  batchnorm_moments(stream, shape, Span<const T>(x), moments, workspace);
}

// moments[ranks,2C + 1] -> mean, inv_std and statistics of all ranks' images together (Chan, Golub
// & LeVeque 1983), ranks merged in their order.
void batchnorm_merge(cudaStream_t stream, const BatchNormShape& shape, int ranks,
                     Span<const float> moments, Span<float> mean, Span<float> inv_std,
                     Span<float> statistics, float weight);

template <class T>
void batchnorm_normalize(cudaStream_t stream, const BatchNormShape& shape, InputSpan<T> x,
                         Span<const float> gamma, Span<const float> beta, Span<const float> mean,
                         Span<const float> inv_std, Span<T> y);

// This rank's sums of the gradient of the pre-activation (dbeta) and of its product with the
// normalised input (dgamma).
template <class T>
void batchnorm_gradient_sums(cudaStream_t stream, const BatchNormShape& shape, Span<const T> x,
                             InputSpan<T> dy, Span<const float> mean, Span<const float> inv_std,
                             Span<const float> gamma, Span<const float> beta, Span<float> dgamma,
                             Span<float> dbeta, Span<float> workspace);
template <class T>
void batchnorm_gradient_sums(cudaStream_t stream, const BatchNormShape& shape, Span<T> x,
                             InputSpan<T> dy, Span<const float> mean, Span<const float> inv_std,
                             Span<const float> gamma, Span<const float> beta, Span<float> dgamma,
                             Span<float> dbeta,
                             Span<float> workspace) requires(!std::is_const_v<T>) {
  batchnorm_gradient_sums(stream, shape, Span<const T>(x), dy, mean, inv_std, gamma, beta, dgamma,
                          dbeta, workspace);
}

// dx from those sums over all ranks, which together have `images` images.
template <class T>
void batchnorm_input_gradient(cudaStream_t stream, const BatchNormShape& shape, std::size_t images,
                              InputSpan<T> x, InputSpan<T> dy, Span<const float> mean,
                              Span<const float> inv_std, Span<const float> gamma,
                              Span<const float> beta, Span<const float> dgamma,
                              Span<const float> dbeta, Span<T> dx);

// Inference with running statistics[2C] = {means, variances}.
template <class T>
void batchnorm_inference(cudaStream_t stream, const BatchNormShape& shape, InputSpan<T> x,
                         Span<const float> gamma, Span<const float> beta, Span<const float> running,
                         Span<T> y);

// running[i] = (1 - momentum) * running[i] + momentum * batch[i], for all layers' statistics at
// once; nothing where a word of `halts` (kernels/divergence.h) is set.
void update_running_statistics(cudaStream_t stream, Span<const std::uint32_t> halts,
                               Span<const float> batch, float momentum, Span<float> running);

}  // namespace annulus
