// See loss_scale.h.
#include "kernels/loss_scale.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels/packet.h"
#include "kernels/simt.h"

namespace annulus {
namespace loss_scale {

// False for infinities and NaN.
SPAN_FN bool is_finite(float value) { return ::fabsf(value) <= FLT_MAX; }

__global__ void unscale(Span<const LossScale> scale, Span<float> gradients,
                        Span<std::uint32_t> overflow) {
  const float inverse = 1.f / scale[0].factor;
  bool finite = true;
  for_packets<kPacket<float>>(
      gradients.size, are_aligned(gradients), [&](std::size_t i, auto width) {
        const auto unscaled = map([inverse](float g) { return g * inverse; },
                                  load<width>(Span<const float>(gradients), i));
        for (float g : unscaled.at) finite &= is_finite(g);
        store(gradients, i, unscaled);
      });
  if (!finite) atomicOr(&overflow[0], 1u);
}
SIMT_KERNEL(unscale)

__global__ void update(Span<LossScale> scale, Span<std::uint32_t> overflow,
                       std::uint32_t growth_interval) {
  for (std::size_t i : grid_stride(1)) {
    LossScale next = scale[i];
    if (overflow[i]) {
      next = {next.factor / 2, 0, next.skipped + 1};
    } else if (++next.good_steps >= growth_interval) {
      next = {next.factor * 2, 0, next.skipped};
    }
    if (next.factor < kSmallestLossScale) next.factor = kSmallestLossScale;
    if (next.factor > kLargestLossScale) next.factor = kLargestLossScale;
    scale[i] = next;
    overflow[i] = 0;
  }
}
SIMT_ELEMENTWISE(update)

#if !defined(__CUDACC__)
void unscale_cpu(Span<const LossScale> scale, Span<float> gradients, Span<std::uint32_t> overflow) {
  constexpr std::size_t kPieceElements = 16384;  // enough work to be worth a thread
  const float inverse = 1.f / scale[0].factor;
  const std::size_t pieces = (gradients.size + kPieceElements - 1) / kPieceElements;
  simt::parallel(pieces, [&](std::size_t piece) {
    const std::size_t begin = piece * kPieceElements;
    const std::size_t end = std::min(gradients.size, begin + kPieceElements);
    int infinite = 0;
    for (std::size_t i = begin; i < end; ++i) {
      gradients[i] *= inverse;
      infinite |= !is_finite(gradients[i]);
    }
    if (infinite) atomicOr(&overflow[0], 1u);
  });
}
#endif
SIMT_CPU_FORM(unscale, unscale_cpu)

}  // namespace loss_scale

void unscale_gradients(cudaStream_t stream, Span<const LossScale> scale, Span<float> gradients,
                       Span<std::uint32_t> overflow) {
  if (gradients.empty()) return;
  launch(loss_scale::unscale, grid_for(gradients.size / kPacket<float> + 1), kBlock, 0, stream,
         scale, gradients, overflow);
}

void update_loss_scale(cudaStream_t stream, Span<LossScale> scale, Span<std::uint32_t> overflow,
                       std::uint32_t growth_interval) {
  launch(loss_scale::update, 1, kBlock, 0, stream, scale, overflow, growth_interval);
}

}  // namespace annulus
