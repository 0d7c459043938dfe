// Elementwise activations and the residual add.
#include "kernels/activation.h"

#include "kernels/activation_formula.h"
#include "kernels/packet.h"
#include "kernels/simt.h"

namespace annulus {
namespace activation {

template <Activation f, class T>
__global__ void forward(Span<const T> x, Span<T> y) {
  for_packets<kPacket<T>>(y.size, are_aligned(x, y), [&](std::size_t i, auto width) {
    store(y, i, map([](float v) { return activate(f, v); }, load<width>(x, i)));
  });
}

template <Activation f, class T>
__global__ void backward(Span<const T> x, Span<const T> dy, Span<T> dx) {
  for_packets<kPacket<T>>(dx.size, are_aligned(x, dy, dx), [&](std::size_t i, auto width) {
    const auto gradient = [](float v, float g) { return activation_gradient(f, v, g); };
    store(dx, i, map(gradient, load<width>(x, i), load<width>(dy, i)));
  });
}

template <class T>
__global__ void add(Span<const T> a, Span<const T> b, Span<T> y) {
  for_packets<kPacket<T>>(y.size, are_aligned(a, b, y), [&](std::size_t i, auto width) {
    store(y, i, map([](float p, float q) { return p + q; }, load<width>(a, i), load<width>(b, i)));
  });
}

#define ANNULUS_KERNELS(T)                        \
  SIMT_ELEMENTWISE(forward<Activation::none, T>)  \
  SIMT_ELEMENTWISE(forward<Activation::relu, T>)  \
  SIMT_ELEMENTWISE(forward<Activation::gelu, T>)  \
  SIMT_ELEMENTWISE(backward<Activation::none, T>) \
  SIMT_ELEMENTWISE(backward<Activation::relu, T>) \
  SIMT_ELEMENTWISE(backward<Activation::gelu, T>) \
  SIMT_ELEMENTWISE(add<T>)
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_KERNELS)

}  // namespace activation

template <class T>
void activation_forward(cudaStream_t stream, Activation f, InputSpan<T> x, Span<T> y) {
  if (y.empty()) return;
  with_activation(f, [&](auto chosen) {
    launch(activation::forward<chosen, T>, grid_for(y.size), kBlock, 0, stream, x, y);
  });
}

template <class T>
void activation_backward(cudaStream_t stream, Activation f, InputSpan<T> x, InputSpan<T> dy,
                         Span<T> dx) {
  if (dx.empty()) return;
  with_activation(f, [&](auto chosen) {
    launch(activation::backward<chosen, T>, grid_for(dx.size), kBlock, 0, stream, x, dy, dx);
  });
}

template <class T>
void add(cudaStream_t stream, InputSpan<T> a, InputSpan<T> b, Span<T> y) {
  if (y.empty()) return;
  launch(activation::add<T>, grid_for(y.size), kBlock, 0, stream, a, b, y);
}

#define ANNULUS_INSTANTIATE(T)                                                               \
  template void activation_forward<T>(cudaStream_t, Activation, InputSpan<T>, Span<T>);      \
  template void activation_backward<T>(cudaStream_t, Activation, InputSpan<T>, InputSpan<T>, \
                                       Span<T>);                                             \
  template void add<T>(cudaStream_t, InputSpan<T>, InputSpan<T>, Span<T>);
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_INSTANTIATE)

}  // namespace annulus
