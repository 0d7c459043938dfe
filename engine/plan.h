// A plan: everything a model needs to run on one batch size, made before the first step: cuDNN
// plans, and a place in the activation arena for every tensor, found by walking the step once.
// Invariant: running a plan allocates nothing. Plans of several batch sizes share one arena; only
// one of them runs at a time. Called by engine/step and engine/evaluate.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/model/model.h"

namespace annulus {

enum class PlanKind { training, inference };

class Plan {
 public:
  Plan(const Model& model, const Device& device, int images, PlanKind kind,
       const Precision& precision = kFp32);

  int images() const { return images_; }
  std::size_t activation_bytes() const { return activation_bytes_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }

  // Gives the plan its memory; at least as much as the two functions above say.
  void bind(Span<std::byte> activations, Span<std::byte> workspace);

  // Both hold the precision's element, as all activations do.
  AnyOutput input() const { return input_; }  // [N,H,W,C], written by the caller before forward
  AnyOutput logits() const {
    return logits_;
  }  // [N,classes]; the loss overwrites them with
     // their gradient

  void forward(const Pass& pass) const;
  void inference(const Pass& pass) const;

  // Tells after each layer how many floats of the flat gradients are final: they are finished from
  // front to back.
  using Finished = std::function<void(std::size_t gradients)>;
  void backward(const Pass& pass, const Finished& finished = nullptr) const;

  // Where a tensor has several readers, their gradients are added: out = a + b.
  struct Sum {
    Slice a, b, out;
  };

  // One layer's share of the step; benches run calls one by one.
  struct Call {
    const Layer* layer = nullptr;
    std::unique_ptr<LayerPlan> layer_plan;
    Slice x, other, y, dy, dx, kept;  // bytes of the activations
    std::vector<Sum> sums;            // after the layer's backward
    std::size_t gradients_finished = 0;
    Bound bound;
  };
  const std::vector<Call>& calls() const { return calls_; }
  void backward_call(const Pass& pass, const Call& call) const;

 private:
  AnyOutput at(const Slice& slice) const;

  int images_;
  Precision precision_;
  std::vector<Call> calls_;  // one a node, in forward order
  Span<std::byte> activations_;
  Slice input_slice_, logits_slice_;
  AnyOutput input_, logits_;
  std::size_t activation_bytes_ = 0, workspace_bytes_ = 0;
};

}  // namespace annulus
