// Inverted dropout whose mask is recomputed, not stored: the backward pass is the same call on the
// gradient. The mask of an element depends on (seed, layer, step, position of the sample in the
// global batch, element) and on nothing else, so it does not change with the number of ranks.
// Srivastava et al. 2014 (JMLR 15).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/span.h"
#include "kernels/step_state.h"

namespace annulus {

struct DropoutKey {
  std::uint32_t layer;           // the how-manieth dropout layer of the model
  std::uint32_t first_position;  // of this (virtual) rank's first sample in the global batch
};

// y[n,i] = kept ? x[n,i] / (1 - rate) : 0 for `images` samples of x.size / images elements. rate in
// [0,1). y may be x. A NaN or infinity of x that is dropped gives NaN, as in PyTorch: nothing hides
// a diverged run.
// T: float, __nv_bfloat16 or __half.
template <class T>
void dropout(cudaStream_t stream, DropoutKey key, Span<const StepState> state, float rate,
             int images, InputSpan<T> x, Span<T> y);

}  // namespace annulus
