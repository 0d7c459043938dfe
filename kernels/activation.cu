// Elementwise activations and the residual add.
#include "kernels/activation.h"

#include "kernels/activation_formula.h"
#include "kernels/simt.h"

namespace annulus {
namespace activation {

template <Activation f>
__global__ void forward(Span<const float> x, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = activate(f, x[i]);
}
SIMT_ELEMENTWISE(forward<Activation::none>)
SIMT_ELEMENTWISE(forward<Activation::relu>)
SIMT_ELEMENTWISE(forward<Activation::gelu>)

template <Activation f>
__global__ void backward(Span<const float> x, Span<const float> dy, Span<float> dx) {
  for (std::size_t i : grid_stride(dx.size)) dx[i] = activation_gradient(f, x[i], dy[i]);
}
SIMT_ELEMENTWISE(backward<Activation::none>)
SIMT_ELEMENTWISE(backward<Activation::relu>)
SIMT_ELEMENTWISE(backward<Activation::gelu>)

__global__ void add(Span<const float> a, Span<const float> b, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = a[i] + b[i];
}
SIMT_ELEMENTWISE(add)

}  // namespace activation

void activation_forward(cudaStream_t stream, Activation f, Span<const float> x, Span<float> y) {
  if (y.empty()) return;
  with_activation(f, [&](auto chosen) {
    launch(activation::forward<chosen>, grid_for(y.size), kBlock, 0, stream, x, y);
  });
}

void activation_backward(cudaStream_t stream, Activation f, Span<const float> x,
                         Span<const float> dy, Span<float> dx) {
  if (dx.empty()) return;
  with_activation(f, [&](auto chosen) {
    launch(activation::backward<chosen>, grid_for(dx.size), kBlock, 0, stream, x, dy, dx);
  });
}

void add(cudaStream_t stream, Span<const float> a, Span<const float> b, Span<float> y) {
  if (y.empty()) return;
  launch(activation::add, grid_for(y.size), kBlock, 0, stream, a, b, y);
}

}  // namespace annulus
