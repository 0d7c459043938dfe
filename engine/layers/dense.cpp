// Three GEMMs and the bias kernels.
#include "engine/layers/dense.h"

#include "kernels/bias.h"

namespace annulus {

Dense::Dense(const std::string& name, ImageShape in, int units, Init init)
    : Layer(name, in, {1, 1, units}) {
  weight_ = {.name = name + ".weight",
             .shape = {units, inputs()},
             .init = init,
             .fan_in = inputs(),
             .fan_out = units,
             .decayed = true,
             .slice = {}};
  bias_ = {.name = name + ".bias", .shape = {units}, .slice = {}};
}

std::size_t Dense::workspace_bytes(const LayerPlan*, int images) const {
  return sizeof(float) * bias_gradient_workspace(images, out().channels);
}

void Dense::forward(const Pass& pass, const Bound& b) const {
  const int units = out().channels;
  gemm(pass.device.cublas, pass.stream(), Transpose::no, Transpose::yes, b.images, units, inputs(),
       b.x, pass.weight(weight_), 0, b.y, b.precision);
  b.with_type([&](const auto& t) { bias_forward(pass.stream(), t.y, pass.parameter(bias_), t.y); });
}

void Dense::backward(const Pass& pass, const Bound& b) const {
  const int units = out().channels;
  b.with_type([&](const auto& t) {
    bias_gradient(pass.stream(), t.dy, pass.gradient(bias_), b.scratch());
  });
  gemm(pass.device.cublas, pass.stream(), Transpose::yes, Transpose::no, units, inputs(), b.images,
       b.dy, b.x, 0, pass.gradient(weight_), b.precision);
  if (!b.dx.empty())
    gemm(pass.device.cublas, pass.stream(), Transpose::no, Transpose::no, b.images, inputs(), units,
         b.dy, pass.weight(weight_), 0, b.dx, b.precision);
}

}  // namespace annulus
