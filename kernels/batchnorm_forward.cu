// BatchNorm's forward pass: statistics of pieces, their combination, then one pass that normalises,
// activates and pools.
#include "kernels/batchnorm.h"
#include "kernels/batchnorm_formula.h"
#include "kernels/columns.h"
#include "kernels/divergence.h"
#include "kernels/packet.h"
#include "kernels/simt.h"

namespace annulus {
namespace batchnorm {

// A piece's mean and sum of squared deviations, by the corrected two-pass algorithm (Chan, Golub &
// LeVeque 1983): the second pass also sums the deviations, whose mean is what the first pass's mean
// had lost to rounding.
struct PieceMoments {
  float mean, squares;

  SPAN_FN PieceMoments(float rounded_mean, float deviations, float squared_deviations, float count)
      : mean(rounded_mean + deviations / count),
        squares(squared_deviations - deviations * deviations / count) {}
};

// partial[2,pieces,C] = each piece's means, then its sums of squares.
template <class T, int width>
__global__ void piece_statistics(ColumnPieces cut, Span<const T> x, Span<float> partial) {
  const std::size_t columns = cut.columns, column = first_column<width>();
  const std::size_t begin = cut.begin(blockIdx.y), end = cut.end(blockIdx.y);
  const bool inside = column < columns;
  const float count = static_cast<float>(end - begin);

  Floats<width> sum{};
  for (std::size_t row = begin + threadIdx.y; inside && row < end; row += blockDim.y)
    sum += load<width>(x, row * columns + column);
  const Floats<width> mean = map([count](float total) { return total / count; }, column_sums(sum));

  Floats<width> deviations{}, squares{};
  for (std::size_t row = begin + threadIdx.y; inside && row < end; row += blockDim.y) {
    const Floats<width> deviation =
        map([](float value, float of_piece) { return value - of_piece; },
            load<width>(x, row * columns + column), mean);
    deviations += deviation;
    squares += map([](float d) { return d * d; }, deviation);
  }
  deviations = column_sums(deviations);
  squares = column_sums(squares);
  if (!inside || threadIdx.y != 0) return;
  for (int i = 0; i < width; ++i) {
    const PieceMoments moments(mean[i], deviations[i], squares[i], count);
    partial[blockIdx.y * columns + column + i] = moments.mean;
    partial[cut.partial_size() + blockIdx.y * columns + column + i] = moments.squares;
  }
}

// The mean of the pieces' means, then the squares about it: sum of (squares + count * (piece's mean
// - mean)^2).
__global__ void combine_pieces(ColumnPieces cut, Span<const float> partial, Span<float> moments) {
  const std::size_t columns = cut.columns, column = blockIdx.x * blockDim.x + threadIdx.x;
  const std::size_t pieces = column < columns ? cut.pieces() : 0;

  double sum = 0;
  for (std::size_t piece = threadIdx.y; piece < pieces; piece += blockDim.y)
    sum += double(partial[piece * columns + column]) * double(cut.end(piece) - cut.begin(piece));
  const double mean = column_sum(sum) / double(cut.rows > 0 ? cut.rows : 1);

  double squares = 0;
  for (std::size_t piece = threadIdx.y; piece < pieces; piece += blockDim.y) {
    const double apart = partial[piece * columns + column] - mean;
    squares += partial[cut.partial_size() + piece * columns + column] +
               double(cut.end(piece) - cut.begin(piece)) * apart * apart;
  }
  squares = column_sum(squares);
  if (column >= columns || threadIdx.y != 0) return;
  moments[column] = static_cast<float>(mean);
  moments[columns + column] = static_cast<float>(squares);
  if (column == 0) moments[2 * columns] = static_cast<float>(cut.rows);
}
SIMT_KERNEL(combine_pieces)

// What the training step keeps of each channel, from the moments of every rank.
__global__ void merge_moments(int ranks, float epsilon, float weight, Span<const float> moments,
                              Span<float> means, Span<float> inv_stds, Span<float> statistics) {
  const std::size_t channels = means.size, stride = 2 * channels + 1;
  for (std::size_t c : grid_stride(channels)) {
    double count = 0, sum = 0, squares = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const double rows = moments[rank * stride + 2 * channels];
      count += rows;
      sum += rows * moments[rank * stride + c];
    }
    const double mean = sum / (count > 0 ? count : 1);
    for (int rank = 0; rank < ranks; ++rank) {
      const double apart = moments[rank * stride + c] - mean;
      squares += moments[rank * stride + channels + c] +
                 moments[rank * stride + 2 * channels] * apart * apart;
    }
    squares = squares > 0 ? squares : 0;
    means[c] = static_cast<float>(mean);
    inv_stds[c] = static_cast<float>(1 / sqrt(squares / (count > 0 ? count : 1) + epsilon));
    statistics[c] = static_cast<float>(weight * mean);
    statistics[channels + c] = static_cast<float>(weight * squares / (count > 1 ? count - 1 : 1));
  }
}
SIMT_ELEMENTWISE(merge_moments)

enum class Spread { inv_std, variance };

SPAN_FN float inverse_deviation(Spread given, float spread, float epsilon) {
  return given == Spread::inv_std ? spread : 1.f / sqrtf(spread + epsilon);
}

// y = pool(f(z)); `cut` cuts y's rows. spread[C]: what `given` says.
template <class T, int width>
__global__ void normalize(BatchNormShape shape, ColumnPieces cut, Spread given, Span<const T> x,
                          Span<const float> means, Span<const float> spread,
                          Span<const float> gamma, Span<const float> beta, Span<T> y) {
  const std::size_t columns = cut.columns, column = first_column<width>();
  if (column >= columns) return;
  Channels<width> channels(column, means, spread, gamma, beta);
  for (Channel& channel : channels.at)
    channel.inv_std = inverse_deviation(given, channel.inv_std, shape.epsilon);
  const Cells windows = Cells::windows(shape);
  for (std::size_t row = cut.begin(blockIdx.y) + threadIdx.y; row < cut.end(blockIdx.y);
       row += blockDim.y) {
    const std::size_t i = row * columns + column;
    Floats<width> out;
    if (shape.pool) {
      const Window<width> window(x, windows, windows.at(row), columns, column);
      for (int c = 0; c < width; ++c)
        out[c] = window_max(shape.activation, channels[c], window[c]).value;
    } else {
      out = load<width>(x, i);
      for (int c = 0; c < width; ++c)
        out[c] = activate(shape.activation, channels[c].pre_activation(out[c]));
    }
    store(y, i, out);
  }
}

__global__ void update_running(Span<const std::uint32_t> halts, Span<const float> batch,
                               float momentum, Span<float> running) {
  for (std::size_t i : grid_stride(is_halted(halts) ? 0 : running.size))
    running[i] = (1.f - momentum) * running[i] + momentum * batch[i];
}
SIMT_ELEMENTWISE(update_running)

#if !defined(__CUDACC__)
template <class T>
void piece_statistics_cpu(ColumnPieces cut, Span<const T> x, Span<float> partial) {
  const std::size_t columns = cut.columns;
  for_pieces_and_blocks(cut, [&](std::size_t piece, int first, auto width) {
    const float count = static_cast<float>(cut.end(piece) - cut.begin(piece));
    float mean[kColumnBlock] = {}, deviations[kColumnBlock] = {}, squares[kColumnBlock] = {};
    for (std::size_t row = cut.begin(piece); row < cut.end(piece); ++row) {
      const T* values = &x[row * columns + first];
      for (int c = 0; c < width; ++c) mean[c] += static_cast<float>(values[c]);
    }
    for (int c = 0; c < width; ++c) mean[c] /= count;
    for (std::size_t row = cut.begin(piece); row < cut.end(piece); ++row) {
      const T* values = &x[row * columns + first];
      for (int c = 0; c < width; ++c) {
        const float deviation = static_cast<float>(values[c]) - mean[c];
        deviations[c] += deviation;
        squares[c] += deviation * deviation;
      }
    }
    for (int c = 0; c < width; ++c) {
      const PieceMoments moments(mean[c], deviations[c], squares[c], count);
      partial[piece * columns + first + c] = moments.mean;
      partial[cut.partial_size() + piece * columns + first + c] = moments.squares;
    }
  });
}

void combine_pieces_cpu(ColumnPieces cut, Span<const float> partial, Span<float> moments) {
  const std::size_t columns = cut.columns;
  for_column_blocks(cut.columns, [&](int first, auto width) {
    double mean[kColumnBlock] = {}, squares[kColumnBlock] = {};
    for (std::size_t piece = 0; piece < cut.pieces(); ++piece) {
      const double count = static_cast<double>(cut.end(piece) - cut.begin(piece));
      for (int c = 0; c < width; ++c) mean[c] += count * partial[piece * columns + first + c];
    }
    for (int c = 0; c < width; ++c)
      mean[c] /= static_cast<double>(std::max<std::size_t>(cut.rows, 1));
    for (std::size_t piece = 0; piece < cut.pieces(); ++piece) {
      const double count = static_cast<double>(cut.end(piece) - cut.begin(piece));
      for (int c = 0; c < width; ++c) {
        const std::size_t i = piece * columns + first + c;
        const double apart = partial[i] - mean[c];
        squares[c] += partial[cut.partial_size() + i] + count * apart * apart;
      }
    }
    for (int c = 0; c < width; ++c) {
      moments[first + c] = static_cast<float>(mean[c]);
      moments[columns + first + c] = static_cast<float>(squares[c]);
    }
    if (first == 0) moments[2 * columns] = static_cast<float>(cut.rows);
  });
}

template <class T>
void normalize_cpu(BatchNormShape shape, ColumnPieces cut, Spread given, Span<const T> x,
                   Span<const float> means, Span<const float> spread, Span<const float> gamma,
                   Span<const float> beta, Span<T> y) {
  const std::size_t columns = cut.columns;
  const Cells windows = Cells::windows(shape);
  const auto normalize_block = [&](std::size_t piece, int first, auto width, auto f) {
    ChannelBlock channels(first, width, means, spread, gamma, beta);
    for (int c = 0; c < width; ++c)
      channels.inv_std[c] = inverse_deviation(given, channels.inv_std[c], shape.epsilon);
    for (std::size_t row = cut.begin(piece); row < cut.end(piece); ++row) {
      T* __restrict__ out = &y[row * columns + first];
      if (shape.pool) {
        const PixelRows window(&x[0] + first, windows, windows.at(row), columns);
        for (int c = 0; c < width; ++c)
          out[c] = static_cast<T>(window_max(f, channels[c], window.at(c)).value);
      } else {
        const T* values = &x[row * columns + first];
        for (int c = 0; c < width; ++c)
          out[c] = static_cast<T>(
              activate(f, channels[c].pre_activation(static_cast<float>(values[c]))));
      }
    }
  };
  with_activation(shape.activation, [&](auto f) {
    for_pieces_and_blocks(cut, [&](std::size_t piece, int first, auto width) {
      normalize_block(piece, first, width, f);
    });
  });
}
#endif
SIMT_CPU_FORM(combine_pieces, combine_pieces_cpu)

#define ANNULUS_KERNELS(T)                                           \
  SIMT_KERNEL_BY_CHANNELS(piece_statistics, piece_statistics_cpu, T) \
  SIMT_KERNEL_BY_CHANNELS(normalize, normalize_cpu, T)
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_KERNELS)

template <class T>
void launch_normalize(cudaStream_t stream, const BatchNormShape& shape, Spread given,
                      Span<const T> x, Span<const float> mean, Span<const float> spread,
                      Span<const float> gamma, Span<const float> beta, Span<T> y) {
  const ColumnPieces cut{shape.out_size() / shape.channels, shape.channels};
  if (cut.rows == 0) return;
  with_channel_width<T>(
      cut.columns,
      [&](auto width) {
        launch(normalize<T, width>, cut.grid(width), cut.block(width), 0, stream, shape, cut, given,
               x, mean, spread, gamma, beta, y);
      },
      x, y);
}

}  // namespace batchnorm

std::size_t batchnorm_workspace(const BatchNormShape& shape) {
  return 2 * ColumnPieces{shape.rows(), shape.channels}.partial_size() +
         batchnorm_moments_size(shape.channels);
}

template <class T>
void batchnorm_moments(cudaStream_t stream, const BatchNormShape& shape, Span<const T> x,
                       Span<float> moments, Span<float> workspace) {
  const ColumnPieces cut{shape.rows(), shape.channels};
  const Span<float> partial = workspace.subspan(0, 2 * cut.partial_size());
  if (cut.rows > 0)
    with_channel_width<T>(
        cut.columns,
        [&](auto width) {
          launch(batchnorm::piece_statistics<T, width>, cut.grid(width), cut.block(width), 0,
                 stream, cut, x, partial);
        },
        x);
  launch(batchnorm::combine_pieces, cut.grid(1, 1), cut.block(), 0, stream, cut, partial, moments);
}

void batchnorm_merge(cudaStream_t stream, const BatchNormShape& shape, int ranks,
                     Span<const float> moments, Span<float> mean, Span<float> inv_std,
                     Span<float> statistics, float weight) {
  launch(batchnorm::merge_moments, grid_for(mean.size), kBlock, 0, stream, ranks, shape.epsilon,
         weight, moments, mean, inv_std, statistics);
}

template <class T>
void batchnorm_normalize(cudaStream_t stream, const BatchNormShape& shape, InputSpan<T> x,
                         Span<const float> gamma, Span<const float> beta, Span<const float> mean,
                         Span<const float> inv_std, Span<T> y) {
  batchnorm::launch_normalize<T>(stream, shape, batchnorm::Spread::inv_std, x, mean, inv_std, gamma,
                                 beta, y);
}

template <class T>
void batchnorm_forward(cudaStream_t stream, const BatchNormShape& shape, InputSpan<T> x,
                       Span<const float> gamma, Span<const float> beta, Span<float> mean,
                       Span<float> inv_std, Span<float> statistics, float weight, Span<T> y,
                       Span<float> workspace) {
  const std::size_t size = batchnorm_moments_size(shape.channels);
  const Span<float> moments = workspace.subspan(batchnorm_workspace(shape) - size, size);
  batchnorm_moments<T>(stream, shape, x, moments, workspace);
  batchnorm_merge(stream, shape, 1, moments, mean, inv_std, statistics, weight);
  batchnorm_normalize(stream, shape, x, gamma, beta, mean, inv_std, y);
}

template <class T>
void batchnorm_inference(cudaStream_t stream, const BatchNormShape& shape, InputSpan<T> x,
                         Span<const float> gamma, Span<const float> beta, Span<const float> running,
                         Span<T> y) {
  const std::size_t channels = shape.channels;
  batchnorm::launch_normalize<T>(stream, shape, batchnorm::Spread::variance, x,
                                 running.subspan(0, channels), running.subspan(channels, channels),
                                 gamma, beta, y);
}

void update_running_statistics(cudaStream_t stream, Span<const std::uint32_t> halts,
                               Span<const float> batch, float momentum, Span<float> running) {
  if (running.empty()) return;
  launch(batchnorm::update_running, grid_for(running.size), kBlock, 0, stream, halts, batch,
         momentum, running);
}

#define ANNULUS_INSTANTIATE(T)                                                                  \
  template void batchnorm_moments<T>(cudaStream_t, const BatchNormShape&, Span<const T>,        \
                                     Span<float>, Span<float>);                                 \
  template void batchnorm_normalize<T>(cudaStream_t, const BatchNormShape&, InputSpan<T>,       \
                                       Span<const float>, Span<const float>, Span<const float>, \
                                       Span<const float>, Span<T>);                             \
  template void batchnorm_forward<T>(cudaStream_t, const BatchNormShape&, InputSpan<T>,         \
                                     Span<const float>, Span<const float>, Span<float>,         \
                                     Span<float>, Span<float>, float, Span<T>, Span<float>);    \
  template void batchnorm_inference<T>(cudaStream_t, const BatchNormShape&, InputSpan<T>,       \
                                       Span<const float>, Span<const float>, Span<const float>, \
                                       Span<T>);
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_INSTANTIATE)

}  // namespace annulus
