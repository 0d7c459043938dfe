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
  const Span<float> mean = b.kept.subspan(0, channels),
                    inv_std = b.kept.subspan(channels, channels);
  const Span<float> statistics = pass.statistics.subspan(statistics_.offset, statistics_.size);
  const BatchNormShape shape = this->shape(b.images);
  if (!pass.exchange) {
    batchnorm_forward(pass.stream(), shape, b.x, pass.parameter(gamma_), pass.parameter(beta_),
                      mean, inv_std, statistics, pass.weight, b.y, b.scratch());
    return;
  }
  batchnorm_merge(pass.stream(), shape, pass.exchange->ranks, exchange_moments(pass, &b), mean,
                  inv_std, statistics, pass.weight);
  batchnorm_normalize(pass.stream(), shape, b.x, pass.parameter(gamma_), pass.parameter(beta_),
                      mean, inv_std, b.y);
}

// Each rank fills its own place and the sum over ranks, with zeros elsewhere, brings all together
// without rounding.
Span<float> BatchNorm::exchange_moments(const Pass& pass, const Bound* b) const {
  const RankExchange& exchange = *pass.exchange;
  const std::size_t size = batchnorm_moments_size(in().channels);
  const Span<float> all = exchange.scratch.subspan(0, exchange.ranks * size);
  CUDA_CHECK(cudaMemsetAsync(all.data, 0, all.bytes(), pass.stream()));
  if (b)
    batchnorm_moments(pass.stream(), shape(b->images), b->x,
                      all.subspan(exchange.rank * size, size), b->scratch());
  exchange.sum(all);
  return all;
}

void BatchNorm::forward_without_images(const Pass& pass) const { exchange_moments(pass, nullptr); }

void BatchNorm::inference(const Pass& pass, const Bound& b) const {
  batchnorm_inference(pass.stream(), shape(b.images), b.x, pass.parameter(gamma_),
                      pass.parameter(beta_),
                      pass.running.subspan(statistics_.offset, statistics_.size), b.y);
}

void BatchNorm::backward(const Pass& pass, const Bound& b) const {
  const std::size_t channels = in().channels;
  const Span<const float> mean = b.kept.subspan(0, channels);
  const Span<const float> inv_std = b.kept.subspan(channels, channels);
  const Span<float> gamma = pass.parameter(gamma_), beta = pass.parameter(beta_);
  const Span<float> dgamma = pass.gradient(gamma_), dbeta = pass.gradient(beta_);
  const BatchNormShape shape = this->shape(b.images);
  if (!pass.exchange) {
    batchnorm_backward(pass.stream(), shape, b.x, b.dy, mean, inv_std, gamma, beta, b.dx, dgamma,
                       dbeta, b.scratch());
    return;
  }
  batchnorm_gradient_sums(pass.stream(), shape, b.x, b.dy, mean, inv_std, gamma, beta, dgamma,
                          dbeta, b.scratch());
  const Span<const float> sums = exchange_sums(pass, dgamma, dbeta);
  batchnorm_input_gradient(pass.stream(), shape, pass.exchange->images, b.x, b.dy, mean, inv_std,
                           gamma, beta, sums.subspan(0, channels), sums.subspan(channels, channels),
                           b.dx);
}

// dgamma and dbeta stay this rank's own: the gradient all-reduce adds them up.
Span<float> BatchNorm::exchange_sums(const Pass& pass, Span<const float> dgamma,
                                     Span<const float> dbeta) const {
  const std::size_t channels = in().channels;
  const Span<float> sums = pass.exchange->scratch.subspan(0, 2 * channels);
  const auto fill = [&](Span<float> to, Span<const float> from) {
    CUDA_CHECK(from.empty() ? cudaMemsetAsync(to.data, 0, to.bytes(), pass.stream())
                            : cudaMemcpyAsync(to.data, from.data, to.bytes(),
                                              cudaMemcpyDeviceToDevice, pass.stream()));
  };
  fill(sums.subspan(0, channels), dgamma);
  fill(sums.subspan(channels, channels), dbeta);
  pass.exchange->sum(sums);
  return sums;
}

void BatchNorm::backward_without_images(const Pass& pass) const { exchange_sums(pass, {}, {}); }

std::size_t BatchNorm::exchange_floats(int ranks) const {
  return ranks * batchnorm_moments_size(in().channels);
}

}  // namespace annulus
