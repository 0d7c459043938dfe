// What a layer is: fixed shapes, a list of parameters, and two calls on memory that the plan has
// already assigned. Invariant: a layer owns no device memory and no per-batch state; what it needs
// for one batch size lives in its LayerPlan, what it needs for one pass comes in the Pass and the
// Bound. Called by engine/plan; implemented in engine/layers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/arena.h"
#include "engine/device.h"
#include "kernels/any_span.h"
#include "kernels/augment.h"
#include "kernels/batchnorm.h"
#include "kernels/conv.h"
#include "kernels/step_state.h"

namespace annulus {

class StepStamps;

// How a parameter starts.
enum class Init { zeros, ones, kaiming_normal, glorot_uniform };

struct Parameter {
  std::string name;        // "conv1.weight"
  std::vector<int> shape;  // conv [K,R,S,C], dense [out,in], else [C]
  Init init = Init::zeros;
  int fan_in = 1, fan_out = 1;  // of the initialisation
  bool decayed = false;         // weight decay applies (weights, never biases or BatchNorm)
  Slice slice;  // in the flat parameter and gradient buffers; set when the model is built

  std::size_t count() const {
    std::size_t n = 1;
    for (int extent : shape) n *= static_cast<std::size_t>(extent);
    return n;
  }
};

// How the layers of all ranks exchange numbers in the middle of a pass (BatchNorm over all ranks'
// images). Every rank makes the same calls in the same order, one without images too.
struct RankExchange {
  int rank = 0, ranks = 1;
  std::size_t images = 0;                // of all ranks, in this pass
  Span<float> scratch;                   // as large as the widest layer needs
  std::function<void(Span<float>)> sum;  // over ranks, in place, on the compute stream
};

// One pass over one (virtual) rank's part of the global batch: the flat buffers and the numbers
// that every layer shares.
struct Pass {
  const Device& device;
  Span<float> parameters;
  AnyInput weights;       // the parameters as products read them, in the pass's precision
  Span<float> gradients;  // same layout as parameters
  Span<float>
      statistics;  // BatchNorm's weighted batch statistics, at the head of the gradient buffer
  Span<const float> running;         // BatchNorm's running statistics, same layout as statistics
  Span<const StepState> state;       // [1], on the device
  std::uint32_t first_position = 0;  // of the first sample, in the global batch
  float weight_of_images = 1;        // those here / those of the global batch
  const RankExchange* exchange = nullptr;  // null: no layer looks beyond its rank
  StepStamps* stamps = nullptr;  // where a measured pass stamps each layer's begin and end

  cudaStream_t stream() const { return device.compute.get(); }
  Span<float> parameter(const Parameter& p) const {
    return parameters.subspan(p.slice.offset, p.slice.size);
  }
  AnyInput weight(const Parameter& p) const {
    return weights.subspan(p.slice.offset, p.slice.size);
  }
  Span<float> gradient(const Parameter& p) const {
    return gradients.subspan(p.slice.offset, p.slice.size);
  }
};

// One convolution that a layer has cuDNN do.
struct ConvCall {
  ConvShape shape;
  ConvKind kind;
};

// How a layer's plan will be used.
struct PlannedUse {
  int images;
  Precision precision;
  bool training;  // a backward pass follows
  bool needs_dx;  // with the gradient of the input
};

// What a layer prepared for one batch size before the first step (cuDNN plans).
class LayerPlan {
 public:
  virtual ~LayerPlan() = default;
};

// A layer's memory for one batch size, in the precision's element. dx is empty where nobody needs
// the gradient of the input.
struct Bound {
  int images = 0;
  Precision precision = kFp32;
  const LayerPlan* plan = nullptr;
  AnyOutput x, other;  // inputs [N,H,W,C]; `other` is the second input of Add
  AnyOutput y;
  AnyOutput dy, dx;
  Span<std::byte> kept;       // written by forward, read by backward
  Span<std::byte> workspace;  // scratch, shared by all layers

  // The same arrays with their type: how a layer reaches launchers that are templates.
  template <class T>
  struct Typed {
    Span<T> x, other, y, dy, dx;
  };
  template <class Body>
  void with_type(Body&& body) const {
    with_element(precision.element, [&]<class T>() {
      body(Typed<T>{x.as<T>(), other.as<T>(), y.as<T>(), dy.as<T>(), dx.as<T>()});
    });
  }

  Span<float> scratch() const {
    return {reinterpret_cast<float*>(workspace.data), workspace.size / sizeof(float)};
  }
};

class Layer {
 public:
  Layer(std::string name, ImageShape in, ImageShape out)
      : name_(std::move(name)), in_(in), out_(out) {}
  virtual ~Layer() = default;

  const std::string& name() const { return name_; }
  const ImageShape& in() const { return in_; }
  const ImageShape& out() const { return out_; }

  virtual std::vector<Parameter*> parameters() { return {}; }
  virtual std::size_t statistics() const { return 0; }  // floats in Pass::statistics
  virtual void set_statistics(Slice) {}
  virtual bool reads_input_backward() const {
    return true;
  }                                                // else x may be overwritten after forward
  virtual bool in_place() const { return false; }  // y may be x and dx may be dy
  virtual bool always_writes_dx() const { return false; }  // even where nobody reads it
  virtual bool passes_gradient_through() const {
    return false;
  }  // dy is the gradient of both inputs
  virtual std::size_t kept_bytes(int /*images*/) const { return 0; }
  virtual double forward_flops() const {
    return 0;
  }  // per image; the backward pass has twice as many

  // The convolutions of a training step in this layer: forward, then its gradients.
  virtual std::vector<ConvCall> convolutions(int /*images*/, bool /*needs_dx*/) const { return {}; }

  // The batch norm that the layer has cuDNN do, forward and backward.
  virtual std::optional<BatchNormShape> cudnn_batchnorm(int /*images*/) const { return {}; }

  virtual std::unique_ptr<LayerPlan> plan(const Device&, const PlannedUse&) const {
    return nullptr;
  }
  virtual std::size_t workspace_bytes(const LayerPlan* /*plan*/, int /*images*/) const { return 0; }

  virtual void forward(const Pass& pass, const Bound& b) const = 0;
  virtual void inference(const Pass& pass, const Bound& b) const { forward(pass, b); }
  virtual void backward(const Pass& pass, const Bound& b) const = 0;

  // What a rank without images does in a pass with an exchange: its part of it.
  virtual void forward_without_images(const Pass& /*pass*/) const {}
  virtual void backward_without_images(const Pass& /*pass*/) const {}
  virtual std::size_t exchange_floats(int /*ranks*/) const { return 0; }

 private:
  std::string name_;
  ImageShape in_, out_;
};

}  // namespace annulus
