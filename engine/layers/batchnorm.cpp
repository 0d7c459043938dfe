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
  const Span<float> mean = kept_mean(b), inv_std = kept_inv_std(b);
  const Span<float> statistics = statistics_of(pass);
  const BatchNormShape shape = this->shape(b.images);
  if (!pass.exchange) {
    b.with_type([&](const auto& t) {
      batchnorm_forward(pass.stream(), shape, t.x, pass.parameter(gamma_), pass.parameter(beta_),
                        mean, inv_std, statistics, pass.weight_of_images, t.y, b.scratch());
    });
    return;
  }
  batchnorm_merge(pass.stream(), shape, pass.exchange->ranks, exchange_moments(pass, &b), mean,
                  inv_std, statistics, pass.weight_of_images);
  b.with_type([&](const auto& t) {
    batchnorm_normalize(pass.stream(), shape, t.x, pass.parameter(gamma_), pass.parameter(beta_),
                        mean, inv_std, t.y);
  });
}

// Each rank fills its own place and the sum over ranks, with zeros elsewhere, brings all together
// without rounding.
Span<float> BatchNorm::exchange_moments(const Pass& pass, const Bound* b) const {
  const RankExchange& exchange = *pass.exchange;
  const std::size_t size = batchnorm_moments_size(in().channels);
  const Span<float> all = exchange.scratch.subspan(0, exchange.ranks * size);
  CUDA_CHECK(cudaMemsetAsync(all.data, 0, all.bytes(), pass.stream()));
  if (b)
    b->with_type([&](const auto& t) {
      batchnorm_moments(pass.stream(), shape(b->images), t.x,
                        all.subspan(exchange.rank * size, size), b->scratch());
    });
  exchange.sum(all);
  return all;
}

void BatchNorm::forward_without_images(const Pass& pass) const { exchange_moments(pass, nullptr); }

void BatchNorm::inference(const Pass& pass, const Bound& b) const {
  b.with_type([&](const auto& t) {
    batchnorm_inference(pass.stream(), shape(b.images), t.x, pass.parameter(gamma_),
                        pass.parameter(beta_),
                        pass.running.subspan(statistics_.offset, statistics_.size), t.y);
  });
}

void BatchNorm::backward(const Pass& pass, const Bound& b) const {
  const Span<const float> mean = kept_mean(b), inv_std = kept_inv_std(b);
  const Span<float> gamma = pass.parameter(gamma_), beta = pass.parameter(beta_);
  const Span<float> dgamma = pass.gradient(gamma_), dbeta = pass.gradient(beta_);
  const BatchNormShape shape = this->shape(b.images);
  b.with_type([&](const auto& t) {
    if (!pass.exchange) {
      batchnorm_backward(pass.stream(), shape, t.x, t.dy, mean, inv_std, gamma, beta, t.dx, dgamma,
                         dbeta, b.scratch());
      return;
    }
    batchnorm_gradient_sums(pass.stream(), shape, t.x, t.dy, mean, inv_std, gamma, beta, dgamma,
                            dbeta, b.scratch());
    const Span<const float> sums = exchange_sums(pass, dgamma, dbeta);
    batchnorm_input_gradient(pass.stream(), shape, pass.exchange->images, t.x, t.dy, mean, inv_std,
                             gamma, beta, sums.subspan(0, channels()),
                             sums.subspan(channels(), channels()), t.dx);
  });
}

// dgamma and dbeta stay this rank's own: the gradient all-reduce adds them up.
Span<float> BatchNorm::exchange_sums(const Pass& pass, Span<const float> dgamma,
                                     Span<const float> dbeta) const {
  const Span<float> sums = pass.exchange->scratch.subspan(0, 2 * channels());
  const auto fill = [&](Span<float> to, Span<const float> from) {
    CUDA_CHECK(from.empty() ? cudaMemsetAsync(to.data, 0, to.bytes(), pass.stream())
                            : cudaMemcpyAsync(to.data, from.data, to.bytes(),
                                              cudaMemcpyDeviceToDevice, pass.stream()));
  };
  fill(sums.subspan(0, channels()), dgamma);
  fill(sums.subspan(channels(), channels()), dbeta);
  pass.exchange->sum(sums);
  return sums;
}

void BatchNorm::backward_without_images(const Pass& pass) const { exchange_sums(pass, {}, {}); }

std::size_t BatchNorm::exchange_floats(int ranks) const {
  return ranks * batchnorm_moments_size(in().channels);
}

}  // namespace annulus
