// Max-pool and global average pool over NHWC: a thread makes one element of the output, forward or
// backward; the CPU forms take neighbouring channels together.
#include "kernels/pool.h"

#include "kernels/columns.h"
#include "kernels/math.h"
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

__global__ void max_forward(PoolShape shape, Span<const float> x, Span<float> y,
                            Span<std::uint8_t> argmax) {
  for (std::size_t i : grid_stride(y.size)) {
    const Place out = place_of(i, shape.out_height(), shape.out_width(), shape.channels);
    const int top = out.row * shape.stride - shape.padding;
    const int left = out.column * shape.stride - shape.padding;
    float best = 0;
    int place = -1;
    for (int k = 0; k < shape.window * shape.window; ++k) {
      const int row = top + k / shape.window, column = left + k % shape.window;
      if (row < 0 || row >= shape.height || column < 0 || column >= shape.width) continue;
      const std::size_t pixel =
          (std::size_t(out.image) * shape.height + row) * shape.width + column;
      const float value = x[pixel * shape.channels + out.channel];
      if (place >= 0 && !(value > best) && value == value) continue;  // a NaN is not hidden
      best = value;
      place = k;
    }
    y[i] = best;
    argmax[i] = static_cast<std::uint8_t>(place);
  }
}
SIMT_KERNEL(max_forward)

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

__global__ void max_backward(PoolShape shape, Span<const float> dy, Span<const std::uint8_t> argmax,
                             Span<float> dx) {
  for (std::size_t i : grid_stride(dx.size)) {
    const Place in = place_of(i, shape.height, shape.width, shape.channels);
    const Covering rows =
        covering(in.row, shape.window, shape.stride, shape.padding, shape.out_height());
    const Covering columns =
        covering(in.column, shape.window, shape.stride, shape.padding, shape.out_width());
    float sum = 0;
    for (int p = rows.first; p <= rows.last; ++p) {
      for (int q = columns.first; q <= columns.last; ++q) {
        const std::size_t window =
            (std::size_t(in.image) * shape.out_height() + p) * shape.out_width() + q;
        const std::size_t o = window * shape.channels + in.channel;
        const int place = place_in_window(shape, in.row, in.column, p, q);
        sum += argmax[o] == place ? dy[o] : 0.f;
      }
    }
    dx[i] = sum;
  }
}
SIMT_KERNEL(max_backward)

__global__ void average_forward(int pixels, int channels, Span<const float> x, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) {
    const std::size_t begin = i / channels * pixels * channels + i % channels;
    float sum = 0;
    for (int pixel = 0; pixel < pixels; ++pixel) sum += x[begin + std::size_t(pixel) * channels];
    y[i] = sum / static_cast<float>(pixels);
  }
}
SIMT_KERNEL(average_forward)

__global__ void average_backward(int pixels, int channels, Span<const float> dy, Span<float> dx) {
  for (std::size_t i : grid_stride(dx.size)) {
    const std::size_t image = i / channels / pixels;
    dx[i] = dy[image * channels + i % channels] / static_cast<float>(pixels);
  }
}
SIMT_KERNEL(average_backward)

#if !defined(__CUDACC__)
// body(line, first, width) for each line of `height` per image and each block of channels.
template <class Body>
void for_lines_and_blocks(int images, int height, int channels, Body&& body) {
  simt::parallel(static_cast<std::size_t>(images) * height, [&](std::size_t line) {
    for_column_blocks(channels, [&](int first, auto width) { body(line, first, width); });
  });
}

void max_forward_cpu(PoolShape shape, Span<const float> x, Span<float> y,
                     Span<std::uint8_t> argmax) {
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
        const float* values = &x[pixel * channels + first];
        for (int c = 0; c < width; ++c) {
          const bool wins = (place[c] < 0) | (values[c] > best[c]) | (values[c] != values[c]);
          best[c] = select(wins, values[c], best[c]);
          place[c] = select(wins, k, place[c]);
        }
      }
      const std::size_t begin = (line * shape.out_width() + q) * channels + first;
      float* out = &y[begin];
      std::uint8_t* winners = &argmax[begin];
      for (int c = 0; c < width; ++c) out[c] = best[c];
      for (int c = 0; c < width; ++c) winners[c] = static_cast<std::uint8_t>(place[c]);
    }
  };
  for_lines_and_blocks(shape.images, shape.out_height(), shape.channels, pool_line);
}

void max_backward_cpu(PoolShape shape, Span<const float> dy, Span<const std::uint8_t> argmax,
                      Span<float> dx) {
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
          const float* gradients = &dy[window * channels + first];
          const std::uint8_t* winners = &argmax[window * channels + first];
          const int place = place_in_window(shape, row, column, p, q);
          for (int c = 0; c < width; ++c) sum[c] += select(winners[c] == place, gradients[c], 0.f);
        }
      }
      float* out = &dx[(line * shape.width + column) * channels + first];
      for (int c = 0; c < width; ++c) out[c] = sum[c];
    }
  };
  for_lines_and_blocks(shape.images, shape.height, shape.channels, gather_line);
}

void average_forward_cpu(int pixels, int channels, Span<const float> x, Span<float> y) {
  const int images = static_cast<int>(y.size / channels);
  for_lines_and_blocks(images, 1, channels, [&](std::size_t image, int first, auto width) {
    float sum[kColumnBlock] = {};
    for (int pixel = 0; pixel < pixels; ++pixel) {
      const float* values = &x[(image * pixels + pixel) * channels + first];
      for (int c = 0; c < width; ++c) sum[c] += values[c];
    }
    for (int c = 0; c < width; ++c)
      y[image * channels + first + c] = sum[c] / static_cast<float>(pixels);
  });
}

void average_backward_cpu(int pixels, int channels, Span<const float> dy, Span<float> dx) {
  const int images = static_cast<int>(dx.size / channels / pixels);
  for_lines_and_blocks(images, 1, channels, [&](std::size_t image, int first, auto width) {
    float share[kColumnBlock];
    for (int c = 0; c < width; ++c)
      share[c] = dy[image * channels + first + c] / static_cast<float>(pixels);
    for (int pixel = 0; pixel < pixels; ++pixel) {
      float* out = &dx[(image * pixels + pixel) * channels + first];
      for (int c = 0; c < width; ++c) out[c] = share[c];
    }
  });
}
#endif
SIMT_CPU_FORM(max_forward, max_forward_cpu)
SIMT_CPU_FORM(max_backward, max_backward_cpu)
SIMT_CPU_FORM(average_forward, average_forward_cpu)
SIMT_CPU_FORM(average_backward, average_backward_cpu)

}  // namespace pool

void maxpool_forward(cudaStream_t stream, const PoolShape& shape, Span<const float> x,
                     Span<float> y, Span<std::uint8_t> argmax) {
  if (y.empty()) return;
  launch(pool::max_forward, grid_for(y.size), kBlock, 0, stream, shape, x, y, argmax);
}

void maxpool_backward(cudaStream_t stream, const PoolShape& shape, Span<const float> dy,
                      Span<const std::uint8_t> argmax, Span<float> dx) {
  if (dx.empty()) return;
  launch(pool::max_backward, grid_for(dx.size), kBlock, 0, stream, shape, dy, argmax, dx);
}

void global_average_forward(cudaStream_t stream, int images, int pixels, int channels,
                            Span<const float> x, Span<float> y) {
  if (images == 0) return;
  launch(pool::average_forward, grid_for(y.size), kBlock, 0, stream, pixels, channels, x, y);
}

void global_average_backward(cudaStream_t stream, int images, int pixels, int channels,
                             Span<const float> dy, Span<float> dx) {
  if (images == 0) return;
  launch(pool::average_backward, grid_for(dx.size), kBlock, 0, stream, pixels, channels, dy, dx);
}

}  // namespace annulus
