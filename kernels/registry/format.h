// The binary formats of the types that kernels store, and their rounding in double: what a correct
// kernel stores is known to the bit from what it should have computed. Called by Case, the
// comparison in tests/kernels/registry_check, and the entries of casts.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "kernels/any_span.h"

namespace annulus::registry {

struct Format {
  int fraction_bits;                        // stored, without the leading one
  int smallest_exponent, largest_exponent;  // of normal numbers

  double unit_roundoff() const { return std::ldexp(1, -fraction_bits - 1); }

  // To nearest, ties to even (what nearbyint does unless told otherwise), past the largest number
  // to infinity.
  double round(double x) const {
    if (x == 0 || !std::isfinite(x)) return x;
    const int exponent = std::max(std::ilogb(x), smallest_exponent);
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, fraction_bits - exponent)),
                                      exponent - fraction_bits);
    return std::fabs(rounded) < std::ldexp(1, largest_exponent + 1)
               ? rounded
               : std::copysign(std::numeric_limits<double>::infinity(), x);
  }
};

inline constexpr Format kFloatFormat{23, -126, 127}, kBfloat16Format{7, -126, 127},
    kHalfFormat{10, -14, 15};

// Of the half types, whose rounding is far coarser than that of the arithmetic before it; null for
// others.
template <class T>
inline constexpr const Format* kHalfTypeFormat = nullptr;
template <>
inline constexpr const Format* kHalfTypeFormat<__nv_bfloat16> = &kBfloat16Format;
template <>
inline constexpr const Format* kHalfTypeFormat<__half> = &kHalfFormat;

// `name` for an entry whose activations are T: float's stays as it is.
template <class T>
std::string name_with(const std::string& name) {
  return std::is_same_v<T, float> ? name : name + " " + std::string(name_of(kElementOf<T>));
}

// add.template operator()<T>() for each type of activations.
template <class Add>
void for_activation_types(Add&& add) {
  for (const Element element : {Element::fp32, Element::bf16, Element::fp16})
    with_element(element, add);
}

}  // namespace annulus::registry
