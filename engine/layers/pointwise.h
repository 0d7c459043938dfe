// The layers without parameters that work element by element: activation, dropout, add.
#pragma once

#include "engine/layer.h"
#include "kernels/activation.h"

namespace annulus {

// ReLU or GELU where it does not follow a BatchNorm (there it is fused).
class ActivationLayer final : public Layer {
 public:
  ActivationLayer(std::string name, ImageShape in, Activation activation)
      : Layer(std::move(name), in, in), activation_(activation) {}
  void forward(const Pass& pass, const Bound& b) const override;
  void backward(const Pass& pass, const Bound& b) const override;

 private:
  Activation activation_;
};

// Inverted dropout; nothing is stored, the backward pass draws the same mask again.
class Dropout : public Layer {
 public:
  Dropout(std::string name, ImageShape in, float rate, std::uint32_t index)
      : Layer(std::move(name), in, in), rate_(rate), index_(index) {}
  bool reads_input_backward() const override { return false; }
  bool in_place() const override { return true; }
  void forward(const Pass& pass, const Bound& b) const override;
  void inference(const Pass& pass, const Bound& b) const override;
  void backward(const Pass& pass, const Bound& b) const override;

 protected:
  float rate_;

 private:
  std::uint32_t index_;  // among the model's dropout layers: part of the key of its mask
};

// y = x + other: the end of a residual block. Its gradient goes to both inputs unchanged.
class Add final : public Layer {
 public:
  Add(std::string name, ImageShape in) : Layer(std::move(name), in, in) {}
  bool reads_input_backward() const override { return false; }
  bool in_place() const override { return true; }
  void forward(const Pass& pass, const Bound& b) const override;
  bool passes_gradient_through() const override { return true; }
  void backward(const Pass&, const Bound&) const override {}
};

}  // namespace annulus
