// The optimizer of a run: its moments, as flat as the parameters, and one update call that works on
// any slice. Called by engine/step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "engine/recipe.h"
#include "kernels/cuda.h"
#include "kernels/step_state.h"

namespace annulus {

enum class OptimizerKind { sgd, adam, adamw };

// Throws UserError (usage) that lists the names.
OptimizerKind parse_optimizer(const std::string& name);

class Optimizer {
 public:
  Optimizer(const Model& model, const Recipe& recipe);

  // Updates the slice of the parameters whose reduced gradients are given; the rate is in `state`.
  // Where diverged[0] is set nothing changes.
  void update(cudaStream_t stream, Span<const StepState> state, Slice slice,
              Span<const std::uint32_t> diverged, Span<float> parameters,
              Span<const float> gradients);

  // What a checkpoint keeps, in the layout of the parameters: the velocity of SGD, or both moments.
  std::vector<Buffer<float>*> moments();

 private:
  OptimizerKind kind_;
  float momentum_;
  Buffer<float> decay_;   // weight decay of each element
  Buffer<float> first_;   // velocity or first moment
  Buffer<float> second_;  // second moment; empty for SGD
};

}  // namespace annulus
