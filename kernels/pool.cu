// Max-pool and global average pool over NHWC, one output element (forward) or one input element
// (backward) per thread.
#include "kernels/pool.h"

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
SIMT_ELEMENTWISE(max_forward)

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
        const int place = (in.row + shape.padding - p * shape.stride) * shape.window +
                          (in.column + shape.padding - q * shape.stride);
        sum += argmax[o] == place ? dy[o] : 0.f;
      }
    }
    dx[i] = sum;
  }
}
SIMT_ELEMENTWISE(max_backward)

__global__ void average_forward(int pixels, int channels, Span<const float> x, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) {
    const std::size_t begin = i / channels * pixels * channels + i % channels;
    float sum = 0;
    for (int pixel = 0; pixel < pixels; ++pixel) sum += x[begin + std::size_t(pixel) * channels];
    y[i] = sum / static_cast<float>(pixels);
  }
}
SIMT_ELEMENTWISE(average_forward)

__global__ void average_backward(int pixels, int channels, Span<const float> dy, Span<float> dx) {
  for (std::size_t i : grid_stride(dx.size)) {
    const std::size_t image = i / channels / pixels;
    dx[i] = dy[image * channels + i % channels] / static_cast<float>(pixels);
  }
}
SIMT_ELEMENTWISE(average_backward)

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
