// Calls kernels/pool; the argmax of the max-pool is kept as bytes.
#include "engine/layers/pooling.h"

namespace annulus {
namespace {

PoolShape pool_shape(int images, ImageShape in, int window, int stride, int padding) {
  return {.images = images,
          .height = in.height,
          .width = in.width,
          .channels = in.channels,
          .window = window,
          .stride = stride,
          .padding = padding};
}

ImageShape output_shape(const PoolShape& s) { return {s.out_height(), s.out_width(), s.channels}; }

}  // namespace

MaxPool::MaxPool(std::string name, ImageShape in, int window, int stride, int padding)
    : Layer(std::move(name), in, output_shape(pool_shape(1, in, window, stride, padding))),
      window_(window),
      stride_(stride),
      padding_(padding) {}

PoolShape MaxPool::shape(int images) const {
  return pool_shape(images, in(), window_, stride_, padding_);
}

std::size_t MaxPool::kept_bytes(int images) const { return shape(images).out_size(); }

Span<std::uint8_t> MaxPool::argmax(const Bound& b) {
  return {reinterpret_cast<std::uint8_t*>(b.kept.data), b.kept.size};
}

void MaxPool::forward(const Pass& pass, const Bound& b) const {
  b.with_type(
      [&](const auto& t) { maxpool_forward(pass.stream(), shape(b.images), t.x, t.y, argmax(b)); });
}

void MaxPool::backward(const Pass& pass, const Bound& b) const {
  if (b.dx.empty()) return;
  b.with_type([&](const auto& t) {
    maxpool_backward(pass.stream(), shape(b.images), t.dy, argmax(b), t.dx);
  });
}

void GlobalAveragePool::forward(const Pass& pass, const Bound& b) const {
  b.with_type([&](const auto& t) {
    global_average_forward(pass.stream(), b.images, pixels(), in().channels, t.x, t.y);
  });
}

void GlobalAveragePool::backward(const Pass& pass, const Bound& b) const {
  if (b.dx.empty()) return;
  b.with_type([&](const auto& t) {
    global_average_backward(pass.stream(), b.images, pixels(), in().channels, t.dy, t.dx);
  });
}

}  // namespace annulus
