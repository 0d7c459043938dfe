// StepState: the few numbers of a training step that kernels read from device memory, so that one
// captured graph can be replayed for every step. Written by engine/step, read by augment, dropout
// and the optimizers.
#pragma once

#include <cstdint>

namespace annulus {

struct StepState {
  std::uint64_t seed;          // the run's seed; the Philox key of everything random
  std::uint32_t step;          // optimizer updates done before this one, from 0
  std::uint32_t epoch;         // from 0
  std::uint32_t first_sample;  // where this step's global batch begins in the epoch's order
  float learning_rate;         // of this update
};

// What a random number is for: the second part of its key, so no two uses share a stream of
// numbers.
enum class Purpose : std::uint32_t {
  init = 1,
  shuffle = 2,
  flip = 3,
  translate = 4,
  cutout = 5,
  synthetic = 6,       // the generated data set, under a seed of its own
  dropout_states = 7,  // the seed of cuDNN's generators
  dropout = 1000,      // + the how-manieth dropout layer
};

}  // namespace annulus
