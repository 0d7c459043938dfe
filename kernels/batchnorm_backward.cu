// BatchNorm's backward pass. With g the gradient of the pre-activation z, routed through pool and
// activation, and x' the normalised input: dbeta = sum g, dgamma = sum g x', dx = gamma inv_std (g
// - mean(g) - x' mean(g x')). Two passes over (x, dy): one for the sums, one for dx; g is computed
// anew in each rather than stored.
#include "kernels/batchnorm.h"
#include "kernels/batchnorm_formula.h"
#include "kernels/columns.h"
#include "kernels/packet.h"
#include "kernels/simt.h"

namespace annulus {
namespace batchnorm {

// g and x' of an element that the gradient reaches.
struct Reached {
  float gradient, normalized;
};

SPAN_FN Reached reached(Activation f, const Channel& channel, float x, float dy) {
  return {activation_gradient(f, channel.pre_activation(x), dy), channel.normalize(x)};
}

// partial[2,pieces,C] = each piece's sums of g, then of g x'; `cut` cuts dy's rows.
template <class T, int width>
__global__ void sum_gradients(BatchNormShape shape, ColumnPieces cut, Span<const T> x,
                              Span<const T> dy, Span<const float> means, Span<const float> inv_stds,
                              Span<const float> gamma, Span<const float> beta,
                              Span<float> partial) {
  const std::size_t columns = cut.columns, column = first_column<width>();
  const bool inside = column < columns;
  const std::size_t end = inside ? cut.end(blockIdx.y) : 0;
  const Channels<width> channels(inside ? column : 0, means, inv_stds, gamma, beta);
  const Cells windows = Cells::windows(shape);

  Floats<width> sum{}, product_sum{};
  for (std::size_t row = cut.begin(blockIdx.y) + threadIdx.y; row < end; row += blockDim.y) {
    const std::size_t i = row * columns + column;
    Floats<width> input;
    if (shape.pool) {
      const Window<width> window(x, windows, windows.at(row), columns, column);
      for (int c = 0; c < width; ++c)
        input[c] = window_max(shape.activation, channels[c], window[c]).x;
    } else {
      input = load<width>(x, i);
    }
    const Floats<width> gradients = load<width>(dy, i);
    for (int c = 0; c < width; ++c) {
      const Reached r = reached(shape.activation, channels[c], input[c], gradients[c]);
      sum[c] += r.gradient;
      product_sum[c] += r.gradient * r.normalized;
    }
  }
  sum = column_sums(sum);
  product_sum = column_sums(product_sum);
  if (!inside || threadIdx.y != 0) return;
  store_each(partial, blockIdx.y * columns + column, sum);
  store_each(partial, cut.partial_size() + blockIdx.y * columns + column, product_sum);
}

// dx = scale * (g - mean - x' * mean_product) within one channel.
struct InputGradient {
  float scale, mean, mean_product;  // gamma inv_std, mean(g), mean(g x') over all ranks' rows

  SPAN_FN static InputGradient of(const Channel& channel, float dgamma, float dbeta,
                                  std::size_t rows) {
    const float inv_count = 1.f / static_cast<float>(rows);
    return {channel.gamma * channel.inv_std, dbeta * inv_count, dgamma * inv_count};
  }
  SPAN_FN float operator()(float gradient, float normalized) const {
    return scale * (gradient - mean - normalized * mean_product);
  }
};

template <int width>
struct InputGradients {
  InputGradient at[width];

  SPAN_FN InputGradients(const Channels<width>& channels, std::size_t first,
                         Span<const float> dgamma, Span<const float> dbeta, std::size_t rows) {
    for (int i = 0; i < width; ++i)
      at[i] = InputGradient::of(channels[i], dgamma[first + i], dbeta[first + i], rows);
  }
  SPAN_FN const InputGradient& operator[](int i) const { return at[i]; }
};

template <class T, int width>
__global__ void input_gradient(BatchNormShape shape, ColumnPieces cut, Span<const T> x,
                               Span<const T> dy, Span<const float> means,
                               Span<const float> inv_stds, Span<const float> gamma,
                               Span<const float> beta, Span<const float> dgamma,
                               Span<const float> dbeta, std::size_t rows, Span<T> dx) {
  const std::size_t columns = cut.columns, column = first_column<width>();
  if (column >= columns) return;
  const Channels<width> channels(column, means, inv_stds, gamma, beta);
  const InputGradients<width> to_input(channels, column, dgamma, dbeta, rows);
  for (std::size_t row = cut.begin(blockIdx.y) + threadIdx.y; row < cut.end(blockIdx.y);
       row += blockDim.y) {
    const std::size_t i = row * columns + column;
    const Floats<width> values = load<width>(x, i), gradients = load<width>(dy, i);
    Floats<width> out;
    for (int c = 0; c < width; ++c) {
      const Reached r = reached(shape.activation, channels[c], values[c], gradients[c]);
      out[c] = to_input[c](r.gradient, r.normalized);
    }
    store(dx, i, out);
  }
}

// The same where a pool follows; `cut` cuts all 2x2 cells, so that pixels outside any window get
// their dx too.
template <class T, int width>
__global__ void input_gradient_unpool(BatchNormShape shape, ColumnPieces cut, Span<const T> x,
                                      Span<const T> dy, Span<const float> means,
                                      Span<const float> inv_stds, Span<const float> gamma,
                                      Span<const float> beta, Span<const float> dgamma,
                                      Span<const float> dbeta, std::size_t rows, Span<T> dx) {
  const std::size_t columns = cut.columns, column = first_column<width>();
  if (column >= columns) return;
  const Channels<width> channels(column, means, inv_stds, gamma, beta);
  const InputGradients<width> to_input(channels, column, dgamma, dbeta, rows);
  const Cells cells = Cells::all(shape);
  for (std::size_t row = cut.begin(blockIdx.y) + threadIdx.y; row < cut.end(blockIdx.y);
       row += blockDim.y) {
    const Cells::Position cell = cells.at(row);
    Floats<width> gradient{};
    int place[width] = {};
    if (cell.whole()) {
      const Window<width> window(x, cells, cell, columns, column);
      const Floats<width> gradients = load<width>(dy, cell.window * columns + column);
      for (int c = 0; c < width; ++c) {
        const WindowMax winner = window_max(shape.activation, channels[c], window[c]);
        gradient[c] = reached(shape.activation, channels[c], winner.x, gradients[c]).gradient;
        place[c] = winner.place;
      }
    }
    for (int k = 0; k < 4; ++k) {
      if (!cell.has(k)) continue;
      const std::size_t i = cells.pixel(cell, k) * columns + column;
      const Floats<width> values = load<width>(x, i);
      Floats<width> out;
      for (int c = 0; c < width; ++c)
        out[c] = to_input[c](k == place[c] ? gradient[c] : 0.f, channels[c].normalize(values[c]));
      store(dx, i, out);
    }
  }
}

#if !defined(__CUDACC__)
template <class T>
void sum_gradients_cpu(BatchNormShape shape, ColumnPieces cut, Span<const T> x, Span<const T> dy,
                       Span<const float> means, Span<const float> inv_stds, Span<const float> gamma,
                       Span<const float> beta, Span<float> partial) {
  const std::size_t columns = cut.columns;
  const Cells windows = Cells::windows(shape);
  const auto sum_block = [&](std::size_t piece, int first, auto width, auto f) {
    const ChannelBlock channels(first, width, means, inv_stds, gamma, beta);
    float sum[kColumnBlock] = {}, product_sum[kColumnBlock] = {};
    const auto add = [&](int c, const Reached& r) {
      sum[c] += r.gradient;
      product_sum[c] += r.gradient * r.normalized;
    };
    for (std::size_t row = cut.begin(piece); row < cut.end(piece); ++row) {
      const T* gradients = &dy[row * columns + first];
      if (shape.pool) {
        const PixelRows window(&x[0] + first, windows, windows.at(row), columns);
        for (int c = 0; c < width; ++c)
          add(c, reached(f, channels[c], window_max(f, channels[c], window.at(c)).x,
                         static_cast<float>(gradients[c])));
      } else {
        const T* values = &x[row * columns + first];
        for (int c = 0; c < width; ++c)
          add(c, reached(f, channels[c], static_cast<float>(values[c]),
                         static_cast<float>(gradients[c])));
      }
    }
    for (int c = 0; c < width; ++c) {
      partial[piece * columns + first + c] = sum[c];
      partial[cut.partial_size() + piece * columns + first + c] = product_sum[c];
    }
  };
  with_activation(shape.activation, [&](auto f) {
    for_pieces_and_blocks(
        cut, [&](std::size_t piece, int first, auto width) { sum_block(piece, first, width, f); });
  });
}

// The parameters of dx for a block of channels.
struct InputGradientBlock {
  float scale[kColumnBlock], mean[kColumnBlock], mean_product[kColumnBlock];

  InputGradientBlock(const ChannelBlock& channels, int first, int width, Span<const float> dgamma,
                     Span<const float> dbeta, std::size_t rows) {
    for (int c = 0; c < width; ++c) {
      const auto to_input =
          InputGradient::of(channels[c], dgamma[first + c], dbeta[first + c], rows);
      scale[c] = to_input.scale;
      mean[c] = to_input.mean;
      mean_product[c] = to_input.mean_product;
    }
  }
  SPAN_FN InputGradient operator[](int c) const { return {scale[c], mean[c], mean_product[c]}; }
};

template <class T>
void input_gradient_cpu(BatchNormShape shape, ColumnPieces cut, Span<const T> x, Span<const T> dy,
                        Span<const float> means, Span<const float> inv_stds,
                        Span<const float> gamma, Span<const float> beta, Span<const float> dgamma,
                        Span<const float> dbeta, std::size_t all_rows, Span<T> dx) {
  const std::size_t columns = cut.columns;
  const auto gradient_block = [&](std::size_t piece, int first, auto width, auto f) {
    const ChannelBlock channels(first, width, means, inv_stds, gamma, beta);
    const InputGradientBlock to_input(channels, first, width, dgamma, dbeta, all_rows);
    for (std::size_t row = cut.begin(piece); row < cut.end(piece); ++row) {
      const T *values = &x[row * columns + first], *gradients = &dy[row * columns + first];
      T* __restrict__ out = &dx[row * columns + first];
      for (int c = 0; c < width; ++c) {
        const Reached r = reached(f, channels[c], static_cast<float>(values[c]),
                                  static_cast<float>(gradients[c]));
        out[c] = static_cast<T>(to_input[c](r.gradient, r.normalized));
      }
    }
  };
  with_activation(shape.activation, [&](auto f) {
    for_pieces_and_blocks(cut, [&](std::size_t piece, int first, auto width) {
      gradient_block(piece, first, width, f);
    });
  });
}

template <class T>
void input_gradient_unpool_cpu(BatchNormShape shape, ColumnPieces cut, Span<const T> x,
                               Span<const T> dy, Span<const float> means,
                               Span<const float> inv_stds, Span<const float> gamma,
                               Span<const float> beta, Span<const float> dgamma,
                               Span<const float> dbeta, std::size_t all_rows, Span<T> dx) {
  const std::size_t columns = cut.columns;
  const Cells cells = Cells::all(shape);
  const auto gradient_block = [&](std::size_t piece, int first, auto width, auto f) {
    const ChannelBlock channels(first, width, means, inv_stds, gamma, beta);
    const InputGradientBlock to_input(channels, first, width, dgamma, dbeta, all_rows);
    for (std::size_t index = cut.begin(piece); index < cut.end(piece); ++index) {
      const Cells::Position cell = cells.at(index);
      float gradient[kColumnBlock];
      int place[kColumnBlock];
      if (cell.whole()) {
        const PixelRows window(&x[0] + first, cells, cell, columns);
        const T* gradients = &dy[cell.window * columns + first];
        for (int c = 0; c < width; ++c) {
          const WindowMax winner = window_max(f, channels[c], window.at(c));
          gradient[c] =
              reached(f, channels[c], winner.x, static_cast<float>(gradients[c])).gradient;
          place[c] = winner.place;
        }
      } else {  // not an initialiser: every whole cell would pay an eighth of its time for it
        for (int c = 0; c < width; ++c) gradient[c] = 0, place[c] = 0;
      }
      for (int k = 0; k < 4; ++k) {
        if (!cell.has(k)) continue;
        const T* values = &x[cells.pixel(cell, k) * columns + first];
        T* __restrict__ out = &dx[cells.pixel(cell, k) * columns + first];
        for (int c = 0; c < width; ++c)
          out[c] =
              static_cast<T>(to_input[c](select(k == place[c], gradient[c], 0.f),
                                         channels[c].normalize(static_cast<float>(values[c]))));
      }
    }
  };
  with_activation(shape.activation, [&](auto f) {
    for_pieces_and_blocks(cut, [&](std::size_t piece, int first, auto width) {
      gradient_block(piece, first, width, f);
    });
  });
}
#endif

#define ANNULUS_KERNELS(T)                                       \
  SIMT_KERNEL_BY_CHANNELS(sum_gradients, sum_gradients_cpu, T)   \
  SIMT_KERNEL_BY_CHANNELS(input_gradient, input_gradient_cpu, T) \
  SIMT_KERNEL_BY_CHANNELS(input_gradient_unpool, input_gradient_unpool_cpu, T)
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_KERNELS)

}  // namespace batchnorm

template <class T>
void batchnorm_gradient_sums(cudaStream_t stream, const BatchNormShape& shape, Span<const T> x,
                             InputSpan<T> dy, Span<const float> mean, Span<const float> inv_std,
                             Span<const float> gamma, Span<const float> beta, Span<float> dgamma,
                             Span<float> dbeta, Span<float> workspace) {
  const ColumnPieces cut{shape.out_size() / shape.channels, shape.channels};
  const std::size_t half = cut.partial_size();
  if (cut.rows > 0)
    with_channel_width<T>(
        cut.columns,
        [&](auto width) {
          launch(batchnorm::sum_gradients<T, width>, cut.grid(width), cut.block(width), 0, stream,
                 shape, cut, x, dy, mean, inv_std, gamma, beta, workspace.subspan(0, 2 * half));
        },
        x, dy);
  sum_pieces(stream, cut, workspace.subspan(0, half), dbeta);
  sum_pieces(stream, cut, workspace.subspan(half, half), dgamma);
}

template <class T>
void batchnorm_input_gradient(cudaStream_t stream, const BatchNormShape& shape, std::size_t images,
                              InputSpan<T> x, InputSpan<T> dy, Span<const float> mean,
                              Span<const float> inv_std, Span<const float> gamma,
                              Span<const float> beta, Span<const float> dgamma,
                              Span<const float> dbeta, Span<T> dx) {
  if (shape.rows() == 0) return;
  const std::size_t rows = images * static_cast<std::size_t>(shape.height * shape.width);
  const std::size_t cells =
      shape.pool ? batchnorm::Cells::all(shape).count(shape.images) : shape.rows();
  const ColumnPieces whole{cells, shape.channels};
  with_channel_width<T>(
      whole.columns,
      [&](auto width) {
        launch(shape.pool ? batchnorm::input_gradient_unpool<T, width>
                          : batchnorm::input_gradient<T, width>,
               whole.grid(width), whole.block(width), 0, stream, shape, whole, x, dy, mean, inv_std,
               gamma, beta, dgamma, dbeta, rows, dx);
      },
      x, dy, dx);
}

template <class T>
void batchnorm_backward(cudaStream_t stream, const BatchNormShape& shape, InputSpan<T> x,
                        InputSpan<T> dy, Span<const float> mean, Span<const float> inv_std,
                        Span<const float> gamma, Span<const float> beta, Span<T> dx,
                        Span<float> dgamma, Span<float> dbeta, Span<float> workspace) {
  batchnorm_gradient_sums<T>(stream, shape, x, dy, mean, inv_std, gamma, beta, dgamma, dbeta,
                             workspace);
  batchnorm_input_gradient(stream, shape, shape.images, x, dy, mean, inv_std, gamma, beta, dgamma,
                           dbeta, dx);
}

#define ANNULUS_INSTANTIATE(T)                                                                    \
  template void batchnorm_gradient_sums<T>(cudaStream_t, const BatchNormShape&, Span<const T>,    \
                                           InputSpan<T>, Span<const float>, Span<const float>,    \
                                           Span<const float>, Span<const float>, Span<float>,     \
                                           Span<float>, Span<float>);                             \
  template void batchnorm_input_gradient<T>(                                                      \
      cudaStream_t, const BatchNormShape&, std::size_t, InputSpan<T>, InputSpan<T>,               \
      Span<const float>, Span<const float>, Span<const float>, Span<const float>,                 \
      Span<const float>, Span<const float>, Span<T>);                                             \
  template void batchnorm_backward<T>(cudaStream_t, const BatchNormShape&, InputSpan<T>,          \
                                      InputSpan<T>, Span<const float>, Span<const float>,         \
                                      Span<const float>, Span<const float>, Span<T>, Span<float>, \
                                      Span<float>, Span<float>);
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_INSTANTIATE)

}  // namespace annulus
