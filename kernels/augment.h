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
  std::size_t size() const { return std::size_t(height) * width * channels; }
};

// Each random choice is keyed by (seed, purpose, step, position in the global batch), the flip by
// (seed, image index) and the epoch's parity: every image is seen mirrored in every other epoch
// ("alternating flip", K. Jordan, arXiv:2404.00498).
struct Augmentation {
  bool flip = false;
  int translate =
      0;  // pixels each way, filled by reflection (without the edge pixel, as PyTorch's 'reflect')
  int cutout = 0;  // side of a square set to the mean (0 after normalisation); 0: none (DeVries &
                   // Taylor 2017)
  std::array<float, 4> mean{};     // per channel, in units of the uint8 input
  std::array<float, 4> inv_std{};  // y = (x - mean) * inv_std
};

// data[D,H,W,C] uint8, labels[D], order[D]: sample i of the batch is order[state.first_sample +
// first_position + i]. y[N,H,W,C], batch_labels[N]; N = batch_labels.size.
void load_batch(cudaStream_t stream, Span<const StepState> state, std::uint32_t first_position,
                const ImageShape& shape, const Augmentation& augmentation,
                Span<const std::uint8_t> data, Span<const std::uint8_t> labels,
                Span<const std::uint32_t> order, Span<float> y, Span<std::int32_t> batch_labels);

}  // namespace annulus
