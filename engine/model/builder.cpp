// Appends layers, numbers them by kind and holds a BatchNorm back until what follows shows whether
// it can be fused.
#include "engine/model/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/layers/batchnorm.h"
#include "engine/layers/batchnorm_cudnn.h"
#include "engine/layers/dense.h"
#include "engine/layers/dropout_cudnn.h"
#include "engine/layers/pointwise.h"
#include "engine/layers/pooling.h"

namespace annulus {

ImageShape ModelBuilder::shape() const {
  if (flattened_) return *flattened_;
  return current_ == 0 ? input_ : nodes_[current_ - 1].layer->out();
}

std::string ModelBuilder::next(const char* kind) {
  const auto number = 1 + std::count(names_.begin(), names_.end(), kind);
  names_.emplace_back(kind);
  return fmt::format("{}{}", kind, number);
}

ModelBuilder& ModelBuilder::append(std::unique_ptr<Layer> layer, int other) {
  nodes_.push_back({std::move(layer), current_, other});
  current_ = static_cast<int>(nodes_.size());
  flattened_.reset();
  return *this;
}

void ModelBuilder::flush() {
  if (!pending_) return;
  const PendingBatchNorm bn = *pending_;
  pending_.reset();
  if (replacements_.batchnorm)
    append(std::make_unique<CudnnBatchNorm>(next("bn"), shape(), bn.epsilon));
  else
    append(std::make_unique<BatchNorm>(next("bn"), shape(), bn.activation, bn.pool, bn.epsilon));
}

ModelBuilder& ModelBuilder::conv(const ConvOptions& options, Init init) {
  flush();
  return append(std::make_unique<Conv2D>(next("conv"), shape(), options, init));
}

ModelBuilder& ModelBuilder::batch_norm(float epsilon) {
  flush();
  pending_ = PendingBatchNorm{epsilon};
  if (!fuse_) flush();
  return *this;
}

ModelBuilder& ModelBuilder::activation(Activation f) {
  if (pending_ && pending_->activation == Activation::none && !pending_->pool) {
    pending_->activation = f;
    return *this;
  }
  flush();
  return append(std::make_unique<ActivationLayer>(next("act"), shape(), f));
}

ModelBuilder& ModelBuilder::max_pool(int window, int stride, int padding) {
  if (pending_ && !pending_->pool && window == 2 && stride == 2 && padding == 0) {
    pending_->pool = true;
    return *this;
  }
  flush();
  return append(std::make_unique<MaxPool>(next("pool"), shape(), window, stride, padding));
}

ModelBuilder& ModelBuilder::global_average_pool() {
  flush();
  return append(std::make_unique<GlobalAveragePool>(next("avg"), shape()));
}

ModelBuilder& ModelBuilder::dropout(float rate) {
  flush();
  const auto index = static_cast<std::uint32_t>(std::count(names_.begin(), names_.end(), "drop"));
  if (replacements_.dropout)
    return append(std::make_unique<CudnnDropout>(next("drop"), shape(), rate, index));
  return append(std::make_unique<Dropout>(next("drop"), shape(), rate, index));
}

ModelBuilder& ModelBuilder::flatten() {
  flush();
  flattened_ = ImageShape{1, 1, static_cast<int>(shape().size())};
  return *this;
}

ModelBuilder& ModelBuilder::dense(int units, Init init) {
  flush();
  return append(std::make_unique<Dense>(next("dense"), shape(), units, init));
}

int ModelBuilder::here() {
  flush();
  return current_;
}

ModelBuilder& ModelBuilder::from(int tensor) {
  flush();
  current_ = tensor;
  return *this;
}

ModelBuilder& ModelBuilder::add(int tensor) {
  flush();
  return append(std::make_unique<Add>(next("add"), shape()), tensor);
}

Model ModelBuilder::build(std::string name) {
  flush();
  return Model(std::move(name), input_, std::move(nodes_));
}

}  // namespace annulus
