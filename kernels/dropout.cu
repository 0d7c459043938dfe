// Dropout: one Philox block of four numbers serves four consecutive elements of one sample.
// Invariant: an element's fate follows from the key in dropout.h alone, so the cut into threads,
// pieces and ranks cannot show. Called by engine/layers/pointwise, forward and backward.
#include "kernels/dropout.h"

#include <algorithm>
#include <cmath>

#include "kernels/philox.h"
#include "kernels/simt.h"
#if !defined(__CUDACC__)
#include "kernels/philox_avx2.h"
#endif

namespace annulus {
namespace {

// An element is kept where uniform(bits) >= rate, compared as integers: threshold = rate * 2^24.
// The factor of kept elements is exactly 1 for rate 0.
struct Keep {
  std::uint32_t threshold;
  float scale;

  SPAN_FN float factor(std::uint32_t bits) const { return bits >> 8 >= threshold ? scale : 0.f; }
};

SPAN_FN std::uint32_t purpose_of(std::uint32_t layer) {
  return static_cast<std::uint32_t>(Purpose::dropout) + layer;
}

__global__ void drop(DropoutKey key, Keep keep, std::size_t sample_size,
                     Span<const StepState> state, Span<const float> x, Span<float> y) {
  const std::size_t blocks = (sample_size + 3) / 4;  // of random numbers, per sample
  for (std::size_t i : grid_stride(x.size / sample_size * blocks)) {
    const std::size_t sample = i / blocks, block = i % blocks;
    const Uint4 random = philox(state[0].seed, purpose_of(key.layer), state[0].step,
                                key.first_position + static_cast<std::uint32_t>(sample),
                                static_cast<std::uint32_t>(block));
    const std::uint32_t bits[4] = {random.x, random.y, random.z, random.w};
    const std::size_t first = sample * sample_size + 4 * block;
    const std::size_t count = sample_size - 4 * block < 4 ? sample_size - 4 * block : 4;
    for (std::size_t e = 0; e < count; ++e) y[first + e] = x[first + e] * keep.factor(bits[e]);
  }
}

#if !defined(__CUDACC__)
constexpr std::size_t kElementsPerCall = 32;   // of philox_8_blocks
constexpr std::size_t kPieceElements = 16384;  // enough work to be worth a thread

void drop_sample(std::uint32_t position, std::uint32_t purpose, Keep keep, const StepState& state,
                 Span<const float> x, Span<float> y) {
  for (std::size_t first = 0; first < x.size; first += kElementsPerCall) {
    std::uint32_t bits[kElementsPerCall];
    philox_8_blocks(state.seed, purpose, state.step, position,
                    static_cast<std::uint32_t>(first / 4), bits);
    const std::size_t count = std::min(kElementsPerCall, x.size - first);
#pragma GCC ivdep  // y may be x: each element is read before it is written, and by nobody else
    for (std::size_t e = 0; e < count; ++e) y[first + e] = x[first + e] * keep.factor(bits[e]);
  }
}

void drop_cpu(DropoutKey key, Keep keep, std::size_t sample_size, Span<const StepState> state,
              Span<const float> x, Span<float> y) {
  const std::size_t samples = x.size / sample_size;
  const std::size_t samples_per_piece = std::max<std::size_t>(1, kPieceElements / sample_size);
  const std::size_t pieces = (samples + samples_per_piece - 1) / samples_per_piece;
  simt::parallel(pieces, [&](std::size_t piece) {
    const std::size_t end = std::min(samples, (piece + 1) * samples_per_piece);
    for (std::size_t sample = piece * samples_per_piece; sample < end; ++sample)
      drop_sample(key.first_position + static_cast<std::uint32_t>(sample), purpose_of(key.layer),
                  keep, state[0], x.subspan(sample * sample_size, sample_size),
                  y.subspan(sample * sample_size, sample_size));
  });
}
#endif

}  // namespace

void dropout(cudaStream_t stream, DropoutKey key, Span<const StepState> state, float rate,
             int images, Span<const float> x, Span<float> y) {
  if (x.empty()) return;
  const Keep keep{static_cast<std::uint32_t>(std::ceil(double{rate} * 0x1p24)),
                  static_cast<float>(1.0 / (1.0 - rate))};
  const std::size_t sample_size = x.size / static_cast<std::size_t>(images);
  const std::size_t blocks = static_cast<std::size_t>(images) * ((sample_size + 3) / 4);
  launch(drop, grid_for(blocks), kBlock, 0, stream, key, keep, sample_size, state, x, y);
}

namespace {
SIMT_ELEMENTWISE(drop)
SIMT_CPU_FORM(drop, drop_cpu)
}  // namespace

}  // namespace annulus
