// Sums the buffers of virtual ranks element by element. Invariant: each element is added in the
// order that sum_ranks.h gives it, whatever the launch.
#include "kernels/sum_ranks.h"

#include <algorithm>

#include "kernels/simt.h"

namespace annulus {
inline namespace sum_ranks_kernels {

// The inverse of ring_chunk_begin: the last k whose chunk begins at or before i.
SPAN_FN int ring_chunk_of(std::size_t count, int ranks, std::size_t i) {
  return static_cast<int>(((i + 1) * static_cast<std::size_t>(ranks) - 1) / count);
}

SPAN_FN int first_rank(SumOrder order, int ranks, int chunk) {
  return order == SumOrder::ring ? ring_first_rank(ranks, chunk) : 0;
}

__global__ void sum(SumOrder order, int ranks, std::size_t stride, Span<const float> buffers,
                    Span<float> out) {
  for (std::size_t i : grid_stride(out.size)) {
    int rank = first_rank(order, ranks, ring_chunk_of(out.size, ranks, i));
    float total = buffers[rank * stride + i];
    for (int added = 1; added < ranks; ++added) {
      rank = rank + 1 < ranks ? rank + 1 : 0;
      total += buffers[rank * stride + i];
    }
    out[i] = total;
  }
}

#if !defined(__CUDACC__)
constexpr std::size_t kTile = 4096;  // elements: the running sums stay in the first-level cache

void sum_tile(int first, int ranks, std::size_t stride, std::size_t begin,
              Span<const float> buffers, Span<float> out, std::size_t size) {
  float total[kTile];
  const auto part = [&](int rank) { return buffers.subspan(rank * stride + begin, size); };
  const Span<const float> start = part(first);
  for (std::size_t i = 0; i < size; ++i) total[i] = start[i];
  for (int added = 1; added < ranks; ++added) {
    const Span<const float> next = part((first + added) % ranks);
    for (std::size_t i = 0; i < size; ++i) total[i] += next[i];
  }
  for (std::size_t i = 0; i < size; ++i) out[begin + i] = total[i];
}

// A tile that holds the border of two ring chunks is done in two parts.
void sum_cpu(SumOrder order, int ranks, std::size_t stride, Span<const float> buffers,
             Span<float> out) {
  simt::parallel((out.size + kTile - 1) / kTile, [&](std::size_t piece) {
    const std::size_t end = std::min(out.size, (piece + 1) * kTile);
    for (std::size_t begin = piece * kTile; begin < end;) {
      const int chunk = ring_chunk_of(out.size, ranks, begin);
      const std::size_t stop = std::min(end, ring_chunk_begin(out.size, ranks, chunk + 1));
      sum_tile(first_rank(order, ranks, chunk), ranks, stride, begin, buffers, out, stop - begin);
      begin = stop;
    }
  });
}
#endif

}  // namespace sum_ranks_kernels

void sum_ranks(cudaStream_t stream, SumOrder order, int ranks, std::size_t stride,
               Span<const float> buffers, Span<float> out) {
  if (out.empty()) return;
  launch(sum, grid_for(out.size), kBlock, 0, stream, order, ranks, stride, buffers, out);
}

namespace {
SIMT_ELEMENTWISE(sum)
SIMT_CPU_FORM(sum, sum_cpu)
}  // namespace

}  // namespace annulus
