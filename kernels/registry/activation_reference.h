// The activations and their slopes in double, for the entries of every kernel that applies one.
#pragma once

#include <cmath>
#include <numbers>
#include <string>

#include "kernels/activation.h"

namespace annulus::registry {

inline std::string name_of(Activation f) {
  return f == Activation::none ? "none" : f == Activation::relu ? "relu" : "gelu";
}

inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

inline double normal_density(double x) {
  return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

inline double activate(Activation f, double x) {
  switch (f) {
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::gelu:
      return x * normal_cdf(x);
    default:
      return x;
  }
}

// f'(x); ReLU's at 0 is 0, as everywhere in the field.
inline double slope(Activation f, double x) {
  switch (f) {
    case Activation::relu:
      return x > 0 ? 1 : 0;
    case Activation::gelu:
      return normal_cdf(x) + x * normal_density(x);
    default:
      return 1;
  }
}

}  // namespace annulus::registry
