// One kernel call each. Inference of a dropout that runs in place is nothing at all.
#include "engine/layers/pointwise.h"

#include "kernels/dropout.h"

namespace annulus {

void ActivationLayer::forward(const Pass& pass, const Bound& b) const {
  activation_forward(pass.stream(), activation_, b.x, b.y);
}

void ActivationLayer::backward(const Pass& pass, const Bound& b) const {
  if (b.dx.empty()) return;
  activation_backward(pass.stream(), activation_, b.x, b.dy, b.dx);
}

void Dropout::forward(const Pass& pass, const Bound& b) const {
  dropout(pass.stream(), {index_, pass.first_position}, pass.state, rate_, b.images, b.x, b.y);
}

void Dropout::inference(const Pass& pass, const Bound& b) const {
  if (b.y.data == b.x.data) return;
  CUDA_CHECK(
      cudaMemcpyAsync(b.y.data, b.x.data, b.x.bytes(), cudaMemcpyDeviceToDevice, pass.stream()));
}

void Dropout::backward(const Pass& pass, const Bound& b) const {
  if (b.dx.empty()) return;
  dropout(pass.stream(), {index_, pass.first_position}, pass.state, rate_, b.images, b.dy, b.dx);
}

void Add::forward(const Pass& pass, const Bound& b) const { add(pass.stream(), b.x, b.other, b.y); }

}  // namespace annulus
