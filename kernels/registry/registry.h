// The kernel registry: one entry per kernel drives its test, its gradient check and its benchmark; nothing is tested or
// timed another way. A user's own kernel joins by the same three lines: describe, reference, REGISTER_KERNEL.
//
// An entry names a kernel, and its shapes; for each shape it makes a Case: device inputs, a launch, the double-precision
// reference of the outputs. tests/kernels/registry_test walks all entries; bench/kernels times the shapes marked `timed`.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace annulus::registry {

// A named array of a Case. Inputs hold the values the kernel reads; outputs hold the reference's values, in double.
struct Array {
  std::string name;
  std::vector<double> values;
  bool differentiable = false;  // for inputs: the gradient check varies it
};

// One shape of one kernel, ready to run.
struct Case {
  std::string shape;            // "N=64 H=32 W=32 C=32"
  std::vector<Array> inputs;    // what the device inputs hold, exactly (already rounded to the kernel's types)
  std::vector<Array> expected;  // the double-precision reference's outputs for those inputs
  std::function<void(cudaStream_t)> launch;                       // runs the kernel once on device buffers the case owns
  std::function<std::vector<std::vector<double>>()> read_outputs; // downloads them, in the order of `expected`
  double flops = 0;             // per launch
  double bytes = 0;             // minimal traffic: each input read once, each output written once
  bool timed = false;           // a shape of the real models: bench/kernels times it
};

// How far an output may lie from the reference: |got - want| <= absolute + relative * |want|, with the reason.
struct Tolerance {
  double absolute = 0, relative = 0;
  std::string reason;
};

struct Entry {
  std::string name;                        // "batchnorm_forward relu"
  Tolerance tolerance;
  std::function<std::vector<Case>()> cases;  // odd and tiny shapes too
  // The gradient check: scalar_loss(inputs) = sum of outputs weighted by fixed random numbers, in double, from the
  // *forward* reference; gradient(inputs) = what the backward kernel's reference says. Null where there is none.
  struct Gradient {
    std::function<double(const std::vector<Array>& inputs)> loss;
    std::function<std::vector<Array>(const std::vector<Array>& inputs)> gradient;  // by input name
    std::vector<Array> inputs;               // a small case
  };
  std::function<Gradient()> gradient;
};

// All entries, in order of registration file; the registry is filled by the entry files' register_* functions, called
// from entries() so that nothing depends on static initialisation or on linker order.
const std::vector<Entry>& entries();

}  // namespace annulus::registry
