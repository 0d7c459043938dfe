// Dynamic loss scaling, which keeps fp16 gradients from vanishing below 2^-24: the loss's gradient
// is multiplied by a factor, the parameters' gradients are divided by it, and a step in which one
// of them was not finite is skipped and the factor halved (Micikevicius et al. 2018,
// arXiv:1710.03740, section 3.2). The factor lives in device memory, so that one captured graph
// serves every step. A step: softmax_xent with the scale; unscale_gradients over all gradients;
// the optimizers, which change nothing where their `halts` (kernels/divergence.h) say overflow;
// update_loss_scale. For engine/step.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/span.h"

namespace annulus {

struct LossScale {
  float factor;               // a power of two, so that scaling itself rounds nothing
  std::uint32_t good_steps;   // since the factor last changed
  std::uint32_t skipped = 0;  // steps, in all

  bool operator==(const LossScale&) const = default;
};

inline constexpr LossScale kInitialLossScale{0x1p16f, 0};
inline constexpr float kSmallestLossScale = 1, kLargestLossScale = 0x1p24f;
inline constexpr std::uint32_t kLossScaleGrowthInterval = 2000;  // good steps

// gradients[i] /= scale[0].factor; overflow[0] = 1 where one is not finite, else it stays as it is.
// May be called for one slice after another.
void unscale_gradients(cudaStream_t stream, Span<const LossScale> scale, Span<float> gradients,
                       Span<std::uint32_t> overflow);

// After the step: halves the factor where overflow[0] is set, doubles it after `growth_interval`
// steps without, between its bounds; sets overflow[0] to 0 for the next step.
void update_loss_scale(cudaStream_t stream, Span<LossScale> scale, Span<std::uint32_t> overflow,
                       std::uint32_t growth_interval = kLossScaleGrowthInterval);

}  // namespace annulus
