// One kernel call each. Inference of a dropout that runs in place is nothing at all.
#include "engine/layers/pointwise.h"

#include "kernels/dropout.h"

namespace annulus {

void ActivationLayer::forward(const Pass& pass, const Bound& b) const {
  b.with_type([&](const auto& t) { activation_forward(pass.stream(), activation_, t.x, t.y); });
}

void ActivationLayer::backward(const Pass& pass, const Bound& b) const {
  if (b.dx.empty()) return;
  b.with_type(
      [&](const auto& t) { activation_backward(pass.stream(), activation_, t.x, t.dy, t.dx); });
}

void Dropout::forward(const Pass& pass, const Bound& b) const {
  b.with_type([&](const auto& t) {
    dropout(pass.stream(), {index_, pass.first_position}, pass.state, rate_, b.images, t.x, t.y);
  });
}

void Dropout::inference(const Pass& pass, const Bound& b) const {
  if (b.y.data == b.x.data) return;
  CUDA_CHECK(
      cudaMemcpyAsync(b.y.data, b.x.data, b.x.bytes(), cudaMemcpyDeviceToDevice, pass.stream()));
}

void Dropout::backward(const Pass& pass, const Bound& b) const {
  if (b.dx.empty()) return;
  b.with_type([&](const auto& t) {
    dropout(pass.stream(), {index_, pass.first_position}, pass.state, rate_, b.images, t.dy, t.dx);
  });
}

void Add::forward(const Pass& pass, const Bound& b) const {
  b.with_type([&](const auto& t) { add(pass.stream(), t.x, t.other, t.y); });
}

}  // namespace annulus
