// A latch on the device: once a step's loss is not finite, no update changes anything any more, so
// that the weights stay as they were before that step and it can be replayed. The host learns of it
// some steps later, from the loss itself. Called by engine/step; read by the optimizers and by
// update_running_statistics.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/span.h"

namespace annulus {

// Whether nothing may change: one of the words is set. What halts an update: {diverged}, or with
// loss scaling {diverged, overflow} (kernels/loss_scale.h).
SPAN_FN bool is_halted(Span<const std::uint32_t> halts) {
  for (std::size_t i = 0; i < halts.size; ++i)
    if (halts[i]) return true;
  return false;
}

// diverged[0] = 1 where loss[0] is not finite; else it stays as it is, 0 from the start.
void latch_divergence(cudaStream_t stream, Span<const float> loss, Span<std::uint32_t> diverged);

}  // namespace annulus
