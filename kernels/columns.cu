// The sum over the pieces of a column reduction: the second and last stage of bias_gradient and
// batchnorm_backward.
#include "kernels/columns.h"

namespace annulus {
namespace columns {

__global__ void sum_pieces(ColumnPieces cut, Span<const float> partial, Span<float> out) {
  const std::size_t column = blockIdx.x * blockDim.x + threadIdx.x;
  const bool inside = column < out.size;
  double sum = 0;
  for (std::size_t piece = threadIdx.y; inside && piece < cut.pieces(); piece += blockDim.y)
    sum += partial[piece * out.size + column];
  sum = column_sum(sum);
  if (inside && threadIdx.y == 0) out[column] = static_cast<float>(sum);
}
SIMT_KERNEL(sum_pieces)

#if !defined(__CUDACC__)
void sum_pieces_cpu(ColumnPieces cut, Span<const float> partial, Span<float> out) {
  for_column_blocks(cut.columns, [&](int first, auto width) {
    double sum[kColumnBlock] = {};
    for (std::size_t piece = 0; piece < cut.pieces(); ++piece) {
      const Span<const float> terms = partial.subspan(piece * out.size + first, width);
      for (int c = 0; c < width; ++c) sum[c] += terms[c];
    }
    for (int c = 0; c < width; ++c) out[first + c] = static_cast<float>(sum[c]);
  });
}
#endif
SIMT_CPU_FORM(sum_pieces, sum_pieces_cpu)

}  // namespace columns

void sum_pieces(cudaStream_t stream, const ColumnPieces& cut, Span<const float> partial,
                Span<float> out) {
  launch(columns::sum_pieces, cut.grid(1, 1), cut.block(), 0, stream, cut, partial, out);
}

}  // namespace annulus
