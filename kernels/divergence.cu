// See divergence.h.
#include "kernels/divergence.h"

#include <cfloat>
#include <cmath>

#include "kernels/simt.h"

namespace annulus {
inline namespace divergence_kernels {

__global__ void latch(Span<const float> loss, Span<std::uint32_t> diverged) {
  for (std::size_t i : grid_stride(1))
    if (!(::fabsf(loss[i]) <= FLT_MAX)) diverged[i] = 1;
}

}  // namespace divergence_kernels

void latch_divergence(cudaStream_t stream, Span<const float> loss, Span<std::uint32_t> diverged) {
  launch(latch, 1, kBlock, 0, stream, loss, diverged);
}

namespace {
SIMT_ELEMENTWISE(latch)
}  // namespace

}  // namespace annulus
