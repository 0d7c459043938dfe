// The loader's device half: gathers samples of the resident uint8 data set in the epoch's order,
// augments them and writes the normalised NHWC batch with its labels. Called first in every step
// and evaluation batch.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>

#include "kernels/span.h"
#include "kernels/step_state.h"

namespace annulus {

struct ImageShape {
  int height, width, channels;
  SPAN_FN std::size_t size() const { return std::size_t(height) * width * channels; }
};

// Applied in the order of the members. Keys of the random choices: the translation and the cutout
// (seed, purpose, state.step, position in the global batch); the flip (seed, image) and the epoch's
// parity, so every image is seen mirrored in every other epoch ("alternating flip", K. Jordan,
// arXiv:2404.00498).
struct Augmentation {
  bool flip = false;
  // Largest shift in pixels, each way and each direction equally likely; what enters the image is
  // its reflection without the edge pixel, as PyTorch's padding mode 'reflect'.
  int translate = 0;
  // Side of a square whose centre is uniform over the image, clipped at the borders and set to the
  // mean, which is 0 after normalisation (DeVries & Taylor, arXiv:1708.04552).
  int cutout = 0;
  // Per channel, y = (x - mean) * inv_std, in units of the uint8 input.
  std::array<float, 4> mean{};
  std::array<float, 4> inv_std{};
};

// data[D,H,W,C] uint8, labels[D], order[D]: sample i of the batch is order[state.first_sample +
// first_position + i]. y[N,H,W,C] of type T: float, __nv_bfloat16 or __half; batch_labels[N];
// N = batch_labels.size.
// Throws UserError(usage) for more than 4 channels or a translation that reflection cannot fill.
template <class T>
void load_batch(cudaStream_t stream, Span<const StepState> state, std::uint32_t first_position,
                const ImageShape& shape, const Augmentation& augmentation,
                Span<const std::uint8_t> data, Span<const std::uint8_t> labels,
                Span<const std::uint32_t> order, Span<T> y, Span<std::int32_t> batch_labels);

}  // namespace annulus
