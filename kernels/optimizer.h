// Optimizer updates over flat slices of the parameter arena; a slice is usually one bucket. The
// learning rate and the number of updates done come from StepState, in device memory. Where a word
// of `halts` (kernels/divergence.h) is set they change nothing. Called by engine/optimizer.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/span.h"
#include "kernels/step_state.h"

namespace annulus {

// SGD with Nesterov momentum, PyTorch's form (Sutskever et al. 2013):
//   g' = g + decay * p;  v = momentum * v + g';  p -= lr * (nesterov ? g' + momentum * v : v)
// decay[i] is the weight decay of element i (0 for biases and BatchNorm).
void sgd_update(cudaStream_t stream, Span<const StepState> state, Span<const std::uint32_t> halts,
                float momentum, bool nesterov, Span<float> p, Span<float> v, Span<const float> g,
                Span<const float> decay);

// In double, because 1 - beta2 in fp32 is off by 5e-5 of itself.
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool decoupled =
      false;  // true: AdamW (Loshchilov & Hutter, arXiv:1711.05101), decay outside the moments
};

// Adam (Kingma & Ba, arXiv:1412.6980), PyTorch's form, bias-corrected with t = state.step + 1.
void adam_update(cudaStream_t stream, Span<const StepState> state, Span<const std::uint32_t> halts,
                 const AdamOptions& options, Span<float> p, Span<float> m, Span<float> v,
                 Span<const float> g, Span<const float> decay);

}  // namespace annulus
