// MaxPool (where it does not follow a fused BatchNorm) and the global average pool.
#pragma once

#include "engine/layer.h"
#include "kernels/pool.h"

namespace annulus {

class MaxPool final : public Layer {
 public:
  MaxPool(std::string name, ImageShape in, int window, int stride, int padding);
  bool reads_input_backward() const override { return false; }
  std::size_t kept_bytes(int images) const override;  // one of argmax an output
  void forward(const Pass& pass, const Bound& b) const override;
  void backward(const Pass& pass, const Bound& b) const override;

 private:
  PoolShape shape(int images) const;
  static Span<std::uint8_t> argmax(const Bound& b);
  int window_, stride_, padding_;
};

class GlobalAveragePool final : public Layer {
 public:
  GlobalAveragePool(std::string name, ImageShape in)
      : Layer(std::move(name), in, {1, 1, in.channels}) {}
  bool reads_input_backward() const override { return false; }
  void forward(const Pass& pass, const Bound& b) const override;
  void backward(const Pass& pass, const Bound& b) const override;

 private:
  int pixels() const { return in().height * in().width; }
};

}  // namespace annulus
