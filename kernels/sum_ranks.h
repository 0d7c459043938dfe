// Sums the gradient buffers of virtual ranks into one, in the order in which an all-reduce of as
// many real ranks would have added them. Called by engine/step.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/span.h"

namespace annulus {

enum class SumOrder {
  rank,  // ((g0 + g1) + g2) + …: the shared-memory all-reduce
  ring,  // chunk k starts at rank ring_first_rank(k) and goes round: the TCP ring
};

// The ring's order is a pure function of (ranks, count): the buffer is cut into `ranks` chunks;
// chunk k starts its way at rank ring_first_rank(k) and collects each next rank's part in turn
// (ring reduce-scatter, Patarasuk & Yuan 2009).
SPAN_FN constexpr std::size_t ring_chunk_begin(std::size_t count, int ranks, int k) {
  return count * static_cast<std::size_t>(k) / static_cast<std::size_t>(ranks);
}
SPAN_FN constexpr int ring_first_rank(int ranks, int k) { return (k + 1) % ranks; }

// out[i] = the sum over ranks of buffers[rank * stride + i]: a slice of each rank's buffer, as one
// all-reduce of that slice would add it.
void sum_ranks(cudaStream_t stream, SumOrder order, int ranks, std::size_t stride,
               Span<const float> buffers, Span<float> out);

}  // namespace annulus
