// Calls kernels/batchnorm; the batch mean and 1/sqrt(var + epsilon) are kept for the backward pass.
#include "engine/layers/batchnorm.h"

namespace annulus {
namespace {

ImageShape output_shape(ImageShape in, bool pool) {
  return pool ? ImageShape{in.height / 2, in.width / 2, in.channels} : in;
}

}  // namespace

BatchNorm::BatchNorm(const std::string& name, ImageShape in, Activation activation, bool pool,
                     float epsilon)
    : Layer(name, in, output_shape(in, pool)),
      activation_(activation),
      pool_(pool),
      epsilon_(epsilon) {
  gamma_ = {.name = name + ".weight", .shape = {in.channels}, .init = Init::ones, .slice = {}};
  beta_ = {.name = name + ".bias", .shape = {in.channels}, .init = Init::zeros, .slice = {}};
}

BatchNormShape BatchNorm::shape(int images) const {
  return {.images = images,
          .height = in().height,
          .width = in().width,
          .channels = in().channels,
          .activation = activation_,
          .pool = pool_,
          .epsilon = epsilon_};
}

std::size_t BatchNorm::workspace_bytes(const LayerPlan*, int images) const {
  return sizeof(float) * batchnorm_workspace(shape(images));
}

void BatchNorm::forward(const Pass& pass, const Bound& b) const {
  const std::size_t channels = in().channels;
  batchnorm_forward(
      pass.stream(), shape(b.images), b.x, pass.parameter(gamma_), pass.parameter(beta_),
      b.kept.subspan(0, channels), b.kept.subspan(channels, channels),
      pass.statistics.subspan(statistics_.offset, statistics_.size), pass.weight, b.y, b.scratch());
}

void BatchNorm::inference(const Pass& pass, const Bound& b) const {
  batchnorm_inference(pass.stream(), shape(b.images), b.x, pass.parameter(gamma_),
                      pass.parameter(beta_),
                      pass.running.subspan(statistics_.offset, statistics_.size), b.y);
}

void BatchNorm::backward(const Pass& pass, const Bound& b) const {
  const std::size_t channels = in().channels;
  batchnorm_backward(pass.stream(), shape(b.images), b.x, b.dy, b.kept.subspan(0, channels),
                     b.kept.subspan(channels, channels), pass.parameter(gamma_),
                     pass.parameter(beta_), b.dx, pass.gradient(gamma_), pass.gradient(beta_),
                     b.scratch());
}

}  // namespace annulus
