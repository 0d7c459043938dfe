// Sums over the rows of a [rows, columns] array, the shape of every per-channel reduction in NHWC:
// how the rows are cut into pieces, the sum across a block, and the sum over the pieces. The cut
// follows from the shape alone and every order is fixed, so the bits do not depend on threads or
// timing. Called by batchnorm and bias.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/simt.h"
#include "kernels/span.h"

namespace annulus {

// One block of threads per piece and per `lanes` columns: threadIdx.x walks neighbouring columns,
// so that loads coalesce, threadIdx.y the piece's rows.
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

  unsigned int lanes() const { return columns > 16 ? 32 : columns > 8 ? 16 : 8; }
  dim3 block() const { return dim3(lanes(), kBlock / lanes()); }
  dim3 grid(std::size_t pieces) const {
    return dim3((static_cast<unsigned int>(columns) + lanes() - 1) / lanes(),
                static_cast<unsigned int>(pieces));
  }
  dim3 grid() const { return grid(pieces()); }
};

// The sum of `value` over the threads of a block that share threadIdx.x, given to all of them.
// Every thread must call it.
template <class T>
__device__ T column_sum(T value) {
  __shared__ T cells[kBlock];
  cells[threadIdx.y * blockDim.x + threadIdx.x] = value;
  __syncthreads();
  T sum = 0;
  for (unsigned int y = 0; y < blockDim.y; ++y) sum += cells[y * blockDim.x + threadIdx.x];
  __syncthreads();  // the cells may be written again
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
