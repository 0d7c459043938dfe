// The kernel registry: one entry per kernel drives its test, its gradient check and its benchmark;
// nothing is tested or timed another way. tests/kernels/registry_test walks all entries,
// bench/kernels times their `timed` cases. docs/custom-kernels.md shows how a kernel of your own
// joins.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/registry/case.h"

namespace annulus::registry {

// The gradient check. gradient(inputs)[name], which should come from the backward kernel's
// reference, is held against central differences of loss(inputs) in the input `name`; all in
// double. The loss of a forward kernel y = f(x) is sum(dy * f(x)) with dy among the inputs.
struct GradientCheck {
  Arrays inputs;  // small, and away from kinks
  std::function<double(const Arrays& inputs)> loss;
  std::function<Arrays(const Arrays& inputs)> gradient;
};

using MakeCase = std::function<Case()>;  // made when needed: timed cases are large

struct Entry {
  std::string name;                              // "batchnorm_forward relu"
  std::vector<MakeCase> tested = {};             // odd and tiny shapes
  std::vector<MakeCase> timed = {};              // shapes of the real models
  std::function<GradientCheck()> gradient = {};  // of backward kernels; null elsewhere
};

// All entries, in the order of entries.h.
const std::vector<Entry>& entries();

}  // namespace annulus::registry
