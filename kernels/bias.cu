// Bias over rows of channels, and its gradient as a two-stage column sum.
#include "kernels/bias.h"

#include "kernels/columns.h"
#include "kernels/packet.h"
#include "kernels/simt.h"

namespace annulus {
namespace bias {

template <class T>
__global__ void forward(Span<const T> x, Span<const float> bias, Span<T> y) {
  const bool in_packets = bias.size % kPacket<T> == 0 && are_aligned(x, y);
  for_packets<kPacket<T>>(y.size, in_packets, [&](std::size_t i, auto width) {
    const auto sum = [](float value, float of_channel) { return value + of_channel; };
    store(y, i, map(sum, load<width>(x, i), load_each<width>(bias, i % bias.size)));
  });
}

// partial[pieces,C]: the sums over each piece's rows.
template <class T, int width>
__global__ void sum_rows(ColumnPieces cut, Span<const T> dy, Span<float> partial) {
  const std::size_t columns = cut.columns, column = first_column<width>();
  const bool inside = column < columns;
  Floats<width> sum{};
  for (std::size_t row = cut.begin(blockIdx.y) + threadIdx.y; inside && row < cut.end(blockIdx.y);
       row += blockDim.y)
    sum += load<width>(dy, row * columns + column);
  sum = column_sums(sum);
  if (inside && threadIdx.y == 0) store_each(partial, blockIdx.y * columns + column, sum);
}

#if !defined(__CUDACC__)
template <class T>
void forward_cpu(Span<const T> x, Span<const float> bias, Span<T> y) {
  const ColumnPieces cut{y.size / bias.size, static_cast<int>(bias.size)};
  simt::parallel(cut.pieces(), [&](std::size_t piece) {
    for (std::size_t row = cut.begin(piece); row < cut.end(piece); ++row) {
      const Span<const T> from = x.subspan(row * bias.size, bias.size);
      const Span<T> to = y.subspan(row * bias.size, bias.size);
      for (std::size_t c = 0; c < bias.size; ++c)
        to[c] = static_cast<T>(static_cast<float>(from[c]) + bias[c]);
    }
  });
}

template <class T>
void sum_rows_cpu(ColumnPieces cut, Span<const T> dy, Span<float> partial) {
  const std::size_t columns = cut.columns;
  for_pieces_and_blocks(cut, [&](std::size_t piece, int first, auto width) {
    float sum[kColumnBlock] = {};
    for (std::size_t row = cut.begin(piece); row < cut.end(piece); ++row) {
      const T* terms = &dy[row * columns + first];
      for (int c = 0; c < width; ++c) sum[c] += static_cast<float>(terms[c]);
    }
    for (int c = 0; c < width; ++c) partial[piece * columns + first + c] = sum[c];
  });
}
#endif

#define ANNULUS_KERNELS(T)                      \
  SIMT_KERNEL(forward<T>)                       \
  SIMT_CPU_FORM((forward<T>), (forward_cpu<T>)) \
  SIMT_KERNEL_BY_CHANNELS(sum_rows, sum_rows_cpu, T)
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_KERNELS)

}  // namespace bias

template <class T>
void bias_forward(cudaStream_t stream, InputSpan<T> x, Span<const float> bias, Span<T> y) {
  if (y.empty()) return;
  launch(bias::forward<T>, grid_for(y.size), kBlock, 0, stream, x, bias, y);
}

std::size_t bias_gradient_workspace(std::size_t rows, std::size_t channels) {
  return ColumnPieces{rows, static_cast<int>(channels)}.partial_size();
}

template <class T>
void bias_gradient(cudaStream_t stream, Span<const T> dy, Span<float> dbias,
                   Span<float> workspace) {
  const ColumnPieces cut{dy.size / dbias.size, static_cast<int>(dbias.size)};
  const Span<float> partial = workspace.subspan(0, cut.partial_size());
  with_channel_width<T>(
      dbias.size,
      [&](auto width) {
        launch(bias::sum_rows<T, width>, cut.grid(width), cut.block(width), 0, stream, cut, dy,
               partial);
      },
      dy);
  sum_pieces(stream, cut, partial, dbias);
}

#define ANNULUS_INSTANTIATE(T)                                                           \
  template void bias_forward<T>(cudaStream_t, InputSpan<T>, Span<const float>, Span<T>); \
  template void bias_gradient<T>(cudaStream_t, Span<const T>, Span<float>, Span<float>);
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_INSTANTIATE)

}  // namespace annulus
