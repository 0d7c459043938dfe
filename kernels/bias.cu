// Bias over rows of channels, and its gradient as a two-stage column sum.
#include "kernels/bias.h"

#include "kernels/columns.h"
#include "kernels/simt.h"

namespace annulus {
namespace bias {

__global__ void forward(Span<const float> x, Span<const float> bias, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = x[i] + bias[i % bias.size];
}
SIMT_KERNEL(forward)

// partial[pieces,C]: the sums over each piece's rows.
__global__ void sum_rows(ColumnPieces cut, Span<const float> dy, Span<float> partial) {
  const std::size_t columns = cut.columns, column = blockIdx.x * blockDim.x + threadIdx.x;
  const bool inside = column < columns;
  float sum = 0;
  for (std::size_t row = cut.begin(blockIdx.y) + threadIdx.y; inside && row < cut.end(blockIdx.y);
       row += blockDim.y)
    sum += dy[row * columns + column];
  sum = column_sum(sum);
  if (inside && threadIdx.y == 0) partial[blockIdx.y * columns + column] = sum;
}
SIMT_KERNEL(sum_rows)

#if !defined(__CUDACC__)
void forward_cpu(Span<const float> x, Span<const float> bias, Span<float> y) {
  const ColumnPieces cut{y.size / bias.size, static_cast<int>(bias.size)};
  simt::parallel(cut.pieces(), [&](std::size_t piece) {
    for (std::size_t row = cut.begin(piece); row < cut.end(piece); ++row) {
      const Span<const float> from = x.subspan(row * bias.size, bias.size);
      const Span<float> to = y.subspan(row * bias.size, bias.size);
      for (std::size_t c = 0; c < bias.size; ++c) to[c] = from[c] + bias[c];
    }
  });
}

void sum_rows_cpu(ColumnPieces cut, Span<const float> dy, Span<float> partial) {
  const std::size_t columns = cut.columns;
  for_pieces_and_blocks(cut, [&](std::size_t piece, int first, auto width) {
    float sum[kColumnBlock] = {};
    for (std::size_t row = cut.begin(piece); row < cut.end(piece); ++row) {
      const float* terms = &dy[row * columns + first];
      for (int c = 0; c < width; ++c) sum[c] += terms[c];
    }
    for (int c = 0; c < width; ++c) partial[piece * columns + first + c] = sum[c];
  });
}
#endif
SIMT_CPU_FORM(forward, forward_cpu)
SIMT_CPU_FORM(sum_rows, sum_rows_cpu)

}  // namespace bias

void bias_forward(cudaStream_t stream, Span<const float> x, Span<const float> bias, Span<float> y) {
  if (y.empty()) return;
  launch(bias::forward, grid_for(y.size), kBlock, 0, stream, x, bias, y);
}

std::size_t bias_gradient_workspace(std::size_t rows, std::size_t channels) {
  return ColumnPieces{rows, static_cast<int>(channels)}.partial_size();
}

void bias_gradient(cudaStream_t stream, Span<const float> dy, Span<float> dbias,
                   Span<float> workspace) {
  const ColumnPieces cut{dy.size / dbias.size, static_cast<int>(dbias.size)};
  const Span<float> partial = workspace.subspan(0, cut.partial_size());
  launch(bias::sum_rows, cut.grid(), cut.block(), 0, stream, cut, dy, partial);
  sum_pieces(stream, cut, partial, dbias);
}

}  // namespace annulus
