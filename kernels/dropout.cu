// Dropout: one Philox block of four numbers serves four consecutive elements of one sample, a
// packet takes one block or two. Invariant: an element's fate follows from the key in dropout.h
// alone, so the cut into threads, pieces and ranks cannot show. Called by engine/layers/pointwise,
// forward and backward.
#include "kernels/dropout.h"

#include <algorithm>
#include <cmath>

#include "kernels/packet.h"
#include "kernels/philox.h"
#include "kernels/simt.h"
#if !defined(__CUDACC__)
#include "kernels/philox_avx2.h"
#endif

namespace annulus {
inline namespace dropout_kernels {

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

// What a thread does: one packet's elements of one sample, or the rest of a sample.
template <class T>
__global__ void drop(DropoutKey key, Keep keep, std::size_t sample_size,
                     Span<const StepState> state, Span<const T> x, Span<T> y) {
  constexpr std::size_t kElements = kPacket<T>;  // whole blocks of random numbers
  const bool in_packets = sample_size % kElements == 0 && are_aligned(x, y);
  const std::size_t packets = (sample_size + kElements - 1) / kElements;  // per sample
  for (std::size_t i : grid_stride(x.size / sample_size * packets)) {
    const std::size_t sample = i / packets, element = i % packets * kElements;
    const std::size_t first = sample * sample_size + element;
    Floats<kPacket<T>> factor;
    for (std::size_t e = 0; e < kElements; e += 4) {
      const Uint4 random = philox(state[0].seed, purpose_of(key.layer), state[0].step,
                                  key.first_position + static_cast<std::uint32_t>(sample),
                                  static_cast<std::uint32_t>((element + e) / 4));
      const std::uint32_t bits[4] = {random.x, random.y, random.z, random.w};
      for (int b = 0; b < 4; ++b) factor[static_cast<int>(e) + b] = keep.factor(bits[b]);
    }
    if (in_packets) {
      const auto product = [](float value, float by) { return value * by; };
      store(y, first, map(product, load<kPacket<T>>(x, first), factor));
    } else {
      for (int e = 0; e < kPacket<T> && element + e < sample_size; ++e)
        y[first + e] = static_cast<T>(static_cast<float>(x[first + e]) * factor[e]);
    }
  }
}

#if !defined(__CUDACC__)
constexpr std::size_t kElementsPerCall = 32;   // of philox_8_blocks
constexpr std::size_t kPieceElements = 16384;  // enough work to be worth a thread

template <class T>
void drop_sample(std::uint32_t position, std::uint32_t purpose, Keep keep, const StepState& state,
                 Span<const T> x, Span<T> y) {
  for (std::size_t first = 0; first < x.size; first += kElementsPerCall) {
    std::uint32_t bits[kElementsPerCall];
    philox_8_blocks(state.seed, purpose, state.step, position,
                    static_cast<std::uint32_t>(first / 4), bits);
    const std::size_t count = std::min(kElementsPerCall, x.size - first);
#pragma GCC ivdep  // y may be x: each element is read before it is written, and by nobody else
    for (std::size_t e = 0; e < count; ++e)
      y[first + e] = static_cast<T>(static_cast<float>(x[first + e]) * keep.factor(bits[e]));
  }
}

template <class T>
void drop_cpu(DropoutKey key, Keep keep, std::size_t sample_size, Span<const StepState> state,
              Span<const T> x, Span<T> y) {
  const std::size_t samples = x.size / sample_size;
  const std::size_t samples_per_piece = std::max<std::size_t>(1, kPieceElements / sample_size);
  const std::size_t pieces = (samples + samples_per_piece - 1) / samples_per_piece;
  simt::parallel(pieces, [&](std::size_t piece) {
    const std::size_t end = std::min(samples, (piece + 1) * samples_per_piece);
    for (std::size_t sample = piece * samples_per_piece; sample < end; ++sample)
      drop_sample<T>(key.first_position + static_cast<std::uint32_t>(sample), purpose_of(key.layer),
                     keep, state[0], x.subspan(sample * sample_size, sample_size),
                     y.subspan(sample * sample_size, sample_size));
  });
}
#endif

}  // namespace dropout_kernels

template <class T>
void dropout(cudaStream_t stream, DropoutKey key, Span<const StepState> state, float rate,
             int images, InputSpan<T> x, Span<T> y) {
  if (x.empty()) return;
  const Keep keep{static_cast<std::uint32_t>(std::ceil(double{rate} * 0x1p24)),
                  static_cast<float>(1.0 / (1.0 - rate))};
  const std::size_t sample_size = x.size / static_cast<std::size_t>(images);
  launch(drop<T>, grid_for(x.size / kPacket<T> + images), kBlock, 0, stream, key, keep, sample_size,
         state, x, y);
}

namespace {
#define ANNULUS_KERNELS(T)  \
  SIMT_ELEMENTWISE(drop<T>) \
  SIMT_CPU_FORM((drop<T>), (drop_cpu<T>))
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_KERNELS)
}  // namespace

#define ANNULUS_INSTANTIATE(T)                                                          \
  template void dropout<T>(cudaStream_t, DropoutKey, Span<const StepState>, float, int, \
                           InputSpan<T>, Span<T>);
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_INSTANTIATE)

}  // namespace annulus
