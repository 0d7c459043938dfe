// Max-pool and global average pool over NHWC: a thread makes a packet of neighbouring channels of
// the output, forward or backward; the CPU forms take more channels together.
#include "kernels/pool.h"

#include "kernels/columns.h"
#include "kernels/math.h"
#include "kernels/packet.h"
#include "kernels/simt.h"

namespace annulus {
namespace pool {

// The four coordinates of an element of an NHWC array.
struct Place {
  int image, row, column, channel;
};

SPAN_FN Place place_of(std::size_t i, int height, int width, int channels) {
  const std::size_t pixel = i / channels, line = pixel / width;
  return {static_cast<int>(line / height), static_cast<int>(line % height),
          static_cast<int>(pixel % width), static_cast<int>(i % channels)};
}

template <class T>
__global__ void max_forward(PoolShape shape, Span<const T> x, Span<T> y,
                            Span<std::uint8_t> argmax) {
  const bool in_packets = shape.channels % kPacket<T> == 0 && are_aligned(x, y);
  for_packets<kPacket<T>>(y.size, in_packets, [&](std::size_t i, auto width) {
    const Place out = place_of(i, shape.out_height(), shape.out_width(), shape.channels);
    const int top = out.row * shape.stride - shape.padding;
    const int left = out.column * shape.stride - shape.padding;
    Floats<width> best{};
    int place[width];
    for (int c = 0; c < width; ++c) place[c] = -1;
    for (int k = 0; k < shape.window * shape.window; ++k) {
      const int row = top + k / shape.window, column = left + k % shape.window;
      if (row < 0 || row >= shape.height || column < 0 || column >= shape.width) continue;
      const std::size_t pixel =
          (std::size_t(out.image) * shape.height + row) * shape.width + column;
      const Floats<width> values = load<width>(x, pixel * shape.channels + out.channel);
      for (int c = 0; c < width; ++c) {
        const float value = values[c];
        if (place[c] >= 0 && !(value > best[c]) && value == value) continue;  // a NaN is not hidden
        best[c] = value;
        place[c] = k;
      }
    }
    store(y, i, best);
    for (int c = 0; c < width; ++c) argmax[i + c] = static_cast<std::uint8_t>(place[c]);
  });
}

// The windows that cover an input row are the outputs first..last.
struct Covering {
  int first, last;
};

SPAN_FN Covering covering(int position, int window, int stride, int padding, int outputs) {
  const int from_end =
      position + padding - window + stride;  // of the first window: ceiling division
  const int first = from_end > 0 ? from_end / stride : 0;
  const int last = (position + padding) / stride;
  return {first, last < outputs ? last : outputs - 1};
}

// Which element of the window of output (p, q) an input is.
SPAN_FN int place_in_window(const PoolShape& shape, int row, int column, int p, int q) {
  return (row + shape.padding - p * shape.stride) * shape.window +
         (column + shape.padding - q * shape.stride);
}

template <class T>
__global__ void max_backward(PoolShape shape, Span<const T> dy, Span<const std::uint8_t> argmax,
                             Span<T> dx) {
  const bool in_packets = shape.channels % kPacket<T> == 0 && are_aligned(dy, dx);
  for_packets<kPacket<T>>(dx.size, in_packets, [&](std::size_t i, auto width) {
    const Place in = place_of(i, shape.height, shape.width, shape.channels);
    const Covering rows =
        covering(in.row, shape.window, shape.stride, shape.padding, shape.out_height());
    const Covering columns =
        covering(in.column, shape.window, shape.stride, shape.padding, shape.out_width());
    Floats<width> sum{};
    for (int p = rows.first; p <= rows.last; ++p) {
      for (int q = columns.first; q <= columns.last; ++q) {
        const std::size_t window =
            (std::size_t(in.image) * shape.out_height() + p) * shape.out_width() + q;
        const std::size_t o = window * shape.channels + in.channel;
        const int place = place_in_window(shape, in.row, in.column, p, q);
        const Floats<width> gradients = load<width>(dy, o);
        for (int c = 0; c < width; ++c) sum[c] += argmax[o + c] == place ? gradients[c] : 0.f;
      }
    }
    store(dx, i, sum);
  });
}

template <class T>
__global__ void average_forward(int pixels, int channels, Span<const T> x, Span<T> y) {
  const bool in_packets = channels % kPacket<T> == 0 && are_aligned(x, y);
  for_packets<kPacket<T>>(y.size, in_packets, [&](std::size_t i, auto width) {
    const std::size_t begin = i / channels * pixels * channels + i % channels;
    Floats<width> sum{};
    for (int pixel = 0; pixel < pixels; ++pixel)
      sum += load<width>(x, begin + std::size_t(pixel) * channels);
    store(y, i, map([=](float total) { return total / static_cast<float>(pixels); }, sum));
  });
}

template <class T>
__global__ void average_backward(int pixels, int channels, Span<const T> dy, Span<T> dx) {
  const bool in_packets = channels % kPacket<T> == 0 && are_aligned(dy, dx);
  for_packets<kPacket<T>>(dx.size, in_packets, [&](std::size_t i, auto width) {
    const std::size_t image = i / channels / pixels;
    const auto share = [=](float gradient) { return gradient / static_cast<float>(pixels); };
    store(dx, i, map(share, load<width>(dy, image * channels + i % channels)));
  });
}

#if !defined(__CUDACC__)
// body(line, first, width) for each line of `height` per image and each block of channels.
template <class Body>
void for_lines_and_blocks(int images, int height, int channels, Body&& body) {
  simt::parallel(static_cast<std::size_t>(images) * height, [&](std::size_t line) {
    for_column_blocks(channels, [&](int first, auto width) { body(line, first, width); });
  });
}

template <class T>
void max_forward_cpu(PoolShape shape, Span<const T> x, Span<T> y, Span<std::uint8_t> argmax) {
  const std::size_t channels = shape.channels;
  const auto pool_line = [&](std::size_t line, int first, auto width) {
    const std::size_t image = line / shape.out_height();
    const int top = static_cast<int>(line % shape.out_height()) * shape.stride - shape.padding;
    for (int q = 0; q < shape.out_width(); ++q) {
      float best[kColumnBlock] = {};
      int place[kColumnBlock];
      std::fill_n(place, kColumnBlock, -1);
      for (int k = 0; k < shape.window * shape.window; ++k) {
        const int row = top + k / shape.window;
        const int column = q * shape.stride - shape.padding + k % shape.window;
        if (row < 0 || row >= shape.height || column < 0 || column >= shape.width) continue;
        const std::size_t pixel = (image * shape.height + row) * shape.width + column;
        const T* values = &x[pixel * channels + first];
        for (int c = 0; c < width; ++c) {
          const float value = static_cast<float>(values[c]);
          const bool wins = (place[c] < 0) | (value > best[c]) | (value != value);
          best[c] = select(wins, value, best[c]);
          place[c] = select(wins, k, place[c]);
        }
      }
      const std::size_t begin = (line * shape.out_width() + q) * channels + first;
      T* out = &y[begin];
      std::uint8_t* winners = &argmax[begin];
      for (int c = 0; c < width; ++c) out[c] = static_cast<T>(best[c]);
      for (int c = 0; c < width; ++c) winners[c] = static_cast<std::uint8_t>(place[c]);
    }
  };
  for_lines_and_blocks(shape.images, shape.out_height(), shape.channels, pool_line);
}

template <class T>
void max_backward_cpu(PoolShape shape, Span<const T> dy, Span<const std::uint8_t> argmax,
                      Span<T> dx) {
  const std::size_t channels = shape.channels;
  const auto gather_line = [&](std::size_t line, int first, auto width) {
    const std::size_t image = line / shape.height;
    const int row = static_cast<int>(line % shape.height);
    const Covering rows =
        covering(row, shape.window, shape.stride, shape.padding, shape.out_height());
    for (int column = 0; column < shape.width; ++column) {
      const Covering columns =
          covering(column, shape.window, shape.stride, shape.padding, shape.out_width());
      float sum[kColumnBlock] = {};
      for (int p = rows.first; p <= rows.last; ++p) {
        for (int q = columns.first; q <= columns.last; ++q) {
          const std::size_t window = (image * shape.out_height() + p) * shape.out_width() + q;
          const T* gradients = &dy[window * channels + first];
          const std::uint8_t* winners = &argmax[window * channels + first];
          const int place = place_in_window(shape, row, column, p, q);
          for (int c = 0; c < width; ++c)
            sum[c] += select(winners[c] == place, static_cast<float>(gradients[c]), 0.f);
        }
      }
      T* out = &dx[(line * shape.width + column) * channels + first];
      for (int c = 0; c < width; ++c) out[c] = static_cast<T>(sum[c]);
    }
  };
  for_lines_and_blocks(shape.images, shape.height, shape.channels, gather_line);
}

template <class T>
void average_forward_cpu(int pixels, int channels, Span<const T> x, Span<T> y) {
  const int images = static_cast<int>(y.size / channels);
  for_lines_and_blocks(images, 1, channels, [&](std::size_t image, int first, auto width) {
    float sum[kColumnBlock] = {};
    for (int pixel = 0; pixel < pixels; ++pixel) {
      const T* values = &x[(image * pixels + pixel) * channels + first];
      for (int c = 0; c < width; ++c) sum[c] += static_cast<float>(values[c]);
    }
    for (int c = 0; c < width; ++c)
      y[image * channels + first + c] = static_cast<T>(sum[c] / static_cast<float>(pixels));
  });
}

template <class T>
void average_backward_cpu(int pixels, int channels, Span<const T> dy, Span<T> dx) {
  const int images = static_cast<int>(dx.size / channels / pixels);
  for_lines_and_blocks(images, 1, channels, [&](std::size_t image, int first, auto width) {
    T share[kColumnBlock];
    for (int c = 0; c < width; ++c)
      share[c] = static_cast<T>(static_cast<float>(dy[image * channels + first + c]) /
                                static_cast<float>(pixels));
    for (int pixel = 0; pixel < pixels; ++pixel) {
      T* out = &dx[(image * pixels + pixel) * channels + first];
      for (int c = 0; c < width; ++c) out[c] = share[c];
    }
  });
}
#endif

#define ANNULUS_KERNEL(kernel, T) \
  SIMT_KERNEL(kernel<T>)          \
  SIMT_CPU_FORM((kernel<T>), (kernel##_cpu<T>))
#define ANNULUS_KERNELS(T)           \
  ANNULUS_KERNEL(max_forward, T)     \
  ANNULUS_KERNEL(max_backward, T)    \
  ANNULUS_KERNEL(average_forward, T) \
  ANNULUS_KERNEL(average_backward, T)
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_KERNELS)

}  // namespace pool

template <class T>
void maxpool_forward(cudaStream_t stream, const PoolShape& shape, InputSpan<T> x, Span<T> y,
                     Span<std::uint8_t> argmax) {
  if (y.empty()) return;
  launch(pool::max_forward<T>, grid_for(y.size), kBlock, 0, stream, shape, x, y, argmax);
}

template <class T>
void maxpool_backward(cudaStream_t stream, const PoolShape& shape, InputSpan<T> dy,
                      Span<const std::uint8_t> argmax, Span<T> dx) {
  if (dx.empty()) return;
  launch(pool::max_backward<T>, grid_for(dx.size), kBlock, 0, stream, shape, dy, argmax, dx);
}

template <class T>
void global_average_forward(cudaStream_t stream, int images, int pixels, int channels,
                            InputSpan<T> x, Span<T> y) {
  if (images == 0) return;
  launch(pool::average_forward<T>, grid_for(y.size), kBlock, 0, stream, pixels, channels, x, y);
}

template <class T>
void global_average_backward(cudaStream_t stream, int images, int pixels, int channels,
                             InputSpan<T> dy, Span<T> dx) {
  if (images == 0) return;
  launch(pool::average_backward<T>, grid_for(dx.size), kBlock, 0, stream, pixels, channels, dy, dx);
}

#define ANNULUS_INSTANTIATE(T)                                                                 \
  template void maxpool_forward<T>(cudaStream_t, const PoolShape&, InputSpan<T>, Span<T>,      \
                                   Span<std::uint8_t>);                                        \
  template void maxpool_backward<T>(cudaStream_t, const PoolShape&, InputSpan<T>,              \
                                    Span<const std::uint8_t>, Span<T>);                        \
  template void global_average_forward<T>(cudaStream_t, int, int, int, InputSpan<T>, Span<T>); \
  template void global_average_backward<T>(cudaStream_t, int, int, int, InputSpan<T>, Span<T>);
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_INSTANTIATE)

}  // namespace annulus
