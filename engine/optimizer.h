// The optimizer of a run: its moments, as flat as the parameters, and one update call that works on
// any slice. Called by engine/step.
#pragma once

#include <string>

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
  void update(cudaStream_t stream, Span<const StepState> state, Slice slice, Span<float> parameters,
              Span<const float> gradients);

 private:
  OptimizerKind kind_;
  float momentum_;
  Buffer<float> decay_;   // weight decay of each element
  Buffer<float> first_;   // velocity or first moment
  Buffer<float> second_;  // second moment; empty for SGD
};

}  // namespace annulus
