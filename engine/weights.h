// What training changes and evaluation reads: the flat parameters and BatchNorm's running
// statistics, on the device. Owned by the trainer or by eval; the optimizer's moments are the
// optimizer's.
#pragma once

#include "engine/model/model.h"
#include "kernels/cuda.h"

namespace annulus {

struct Weights {
  Weights(const Model& model, std::uint64_t seed)
      : parameters(initial_parameters(model, seed)), running(initial_running_statistics(model)) {}

  Buffer<float> parameters;  // [layout.parameters]
  Buffer<float> running;     // [layout.statistics]
};

}  // namespace annulus
