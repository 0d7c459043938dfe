// The activations and their slopes in fp32, and the choice among them: shared by the kernels that
// apply one. With f known at compile time the branches fold away and loops vectorise.
#pragma once

#include <type_traits>

#include "kernels/activation.h"
#include "kernels/math.h"
#include "kernels/span.h"

namespace annulus {

SPAN_FN float activate(Activation f, float x) {
  if (f == Activation::relu) return select(x < 0, 0.f, x);  // this way round NaN stays NaN
  if (f == Activation::gelu) return x * normal(x).cdf;
  return x;
}

// dy * f'(x)
SPAN_FN float activation_gradient(Activation f, float x, float dy) {
  if (f == Activation::relu) return select(x > 0, dy, 0.f);
  if (f == Activation::gelu) {
    const Normal n = normal(x);
    return dy * (n.cdf + x * n.density);
  }
  return dy;
}

// Calls body with f as a compile-time constant.
template <class Body>
void with_activation(Activation f, Body&& body) {
  switch (f) {
    case Activation::none:
      return body(std::integral_constant<Activation, Activation::none>{});
    case Activation::relu:
      return body(std::integral_constant<Activation, Activation::relu>{});
    case Activation::gelu:
      return body(std::integral_constant<Activation, Activation::gelu>{});
  }
}

}  // namespace annulus
