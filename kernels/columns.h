// Sums over the rows of a [rows, columns] array, the shape of every per-channel reduction in NHWC:
// how the rows are cut into pieces, the sum across a block, and the sum over the pieces. The cut
// follows from the shape alone and every order is fixed, so the bits do not depend on threads or
// timing. Called by batchnorm and bias.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/packet.h"
#include "kernels/simt.h"
#include "kernels/span.h"

namespace annulus {

// One block of threads per piece and per `lanes` times `width` columns: threadIdx.x walks
// neighbouring groups of `width` columns, so that loads coalesce, threadIdx.y the piece's rows.
struct ColumnPieces {
  std::size_t rows;
  int columns;

  // About 32 KiB, which stays in a CPU's first cache for a second reading; few enough rows that a
  // plain fp32 sum over them is accurate, few enough pieces that the sum over the pieces is short.
  SPAN_FN std::size_t rows_per_piece() const {
    constexpr std::size_t kElements = 8192, kMinRows = 16, kMaxRows = 256, kMaxPieces = 1024;
    const std::size_t fitting = kElements / static_cast<std::size_t>(columns);
    const std::size_t wanted = fitting < kMinRows   ? kMinRows
                               : fitting > kMaxRows ? kMaxRows
                                                    : fitting;
    const std::size_t least = (rows + kMaxPieces - 1) / kMaxPieces;
    return wanted > least ? wanted : least;
  }
  SPAN_FN std::size_t pieces() const { return (rows + rows_per_piece() - 1) / rows_per_piece(); }
  SPAN_FN std::size_t begin(std::size_t piece) const { return piece * rows_per_piece(); }
  SPAN_FN std::size_t end(std::size_t piece) const {
    const std::size_t end = begin(piece) + rows_per_piece();
    return end < rows ? end : rows;
  }
  SPAN_FN std::size_t partial_size() const { return pieces() * static_cast<std::size_t>(columns); }

  unsigned int lanes(int width) const {
    const int groups = columns / width;
    return groups > 16 ? 32 : groups > 8 ? 16 : groups > 4 ? 8 : 4;
  }
  dim3 block(int width = 1) const { return dim3(lanes(width), kBlock / lanes(width)); }
  dim3 grid(std::size_t pieces, int width) const {
    const unsigned int of_block = lanes(width) * static_cast<unsigned int>(width);
    return dim3((static_cast<unsigned int>(columns) + of_block - 1) / of_block,
                static_cast<unsigned int>(pieces));
  }
  dim3 grid(int width = 1) const { return grid(pieces(), width); }
};

// The first of the columns that a thread of such a block takes.
template <int width>
__device__ std::size_t first_column() {
  return (blockIdx.x * blockDim.x + threadIdx.x) * std::size_t{width};
}

// The sums of `values` over the threads of a block that share threadIdx.x, given to all of them.
// Every thread must call it.
template <int width>
__device__ Floats<width> column_sums(const Floats<width>& values) {
  __shared__ float cells[width][kBlock];
  const unsigned int mine = threadIdx.y * blockDim.x + threadIdx.x;
  for (int i = 0; i < width; ++i) cells[i][mine] = values[i];
  for (unsigned int half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y >= half) continue;
    for (int i = 0; i < width; ++i) cells[i][mine] += cells[i][mine + half * blockDim.x];
  }
  __syncthreads();
  Floats<width> sums;
  for (int i = 0; i < width; ++i) sums[i] = cells[i][threadIdx.x];
  __syncthreads();  // the cells may be written again
  return sums;
}

// The same for the few terms of a sum over pieces, in double.
__device__ inline double column_sum(double value) {
  __shared__ double cells[kBlock];
  cells[threadIdx.y * blockDim.x + threadIdx.x] = value;
  __syncthreads();
  double sum = 0;
  for (unsigned int y = 0; y < blockDim.y; ++y) sum += cells[y * blockDim.x + threadIdx.x];
  __syncthreads();
  return sum;
}

// out[c] = sum over the pieces of partial[pieces, columns], in double: few terms, whose rounding
// should not show.
void sum_pieces(cudaStream_t stream, const ColumnPieces& cut, Span<const float> partial,
                Span<float> out);

// For CPU forms: body(first, width) for each block of neighbouring columns. `width` is a
// compile-time constant but for the last few columns, so that the body's accumulators live in
// registers and its loops vectorise.
inline constexpr int kColumnBlock = 32;

template <class Body>
void for_column_blocks(int columns, Body&& body) {
  int first = 0;
  for (; first + kColumnBlock <= columns; first += kColumnBlock)
    body(first, std::integral_constant<int, kColumnBlock>{});
  for (; first + 16 <= columns; first += 16) body(first, std::integral_constant<int, 16>{});
  if (first < columns) body(first, columns - first);
}

#if !defined(__CUDACC__)
// body(piece, first, width), the pieces in parallel.
template <class Body>
void for_pieces_and_blocks(const ColumnPieces& cut, Body&& body) {
  simt::parallel(cut.pieces(), [&](std::size_t piece) {
    for_column_blocks(cut.columns, [&](int first, auto width) { body(piece, first, width); });
  });
}
#endif

}  // namespace annulus
