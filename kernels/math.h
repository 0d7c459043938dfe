// exp and the normal distribution in fp32 without branches, tables or library calls, so that loops
// over them vectorise. Called by the kernels of both compilers; the errors stated here are measured
// by tests/kernels/math_test.
#pragma once

#include <math.h>

#include "kernels/span.h"

namespace annulus {

// choose ? a : b by bit masks: a compiler that turns nested choices into branches cannot vectorise
// the loop around them.
SPAN_FN int select(bool choose, int a, int b) {
  const int mask = -static_cast<int>(choose);
  return (a & mask) | (b & ~mask);
}
SPAN_FN float select(bool choose, float a, float b) {
  return __builtin_bit_cast(float,
                            select(choose, __builtin_bit_cast(int, a), __builtin_bit_cast(int, b)));
}

// e^x, within 2 units in the last place for x in [-87, 88]; outside, the value at the nearer end.
// NaN stays NaN. x = k ln 2 + r with |r| <= ln 2 / 2 (ln 2 in two parts: Cody & Waite 1980), then
// Taylor's series to r^7 / 7!, whose first dropped term is below 6e-9.
SPAN_FN float exp_approx(float x) {
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693145752f, kLn2Low = 1.42860677e-6f;
  constexpr float kRoundToInteger =
      0x1.8p23f;  // adding it leaves the nearest integer in the low bits
  x = select(x < -87.f, -87.f, select(x > 88.f, 88.f, x));
  const float shifted = x * kLog2E + kRoundToInteger;
  const float k = shifted - kRoundToInteger;
  const float r = fmaf(k, -kLn2Low, fmaf(k, -kLn2High, x));
  float series = fmaf(r, 1.f / 5040, 1.f / 720);
  series = fmaf(series, r, 1.f / 120);
  series = fmaf(series, r, 1.f / 24);
  series = fmaf(series, r, 1.f / 6);
  series = fmaf(series, r, 0.5f);
  series = fmaf(series, r, 1.f);
  series = fmaf(series, r, 1.f);
  const unsigned exponent =
      __builtin_bit_cast(unsigned, shifted) - __builtin_bit_cast(unsigned, kRoundToInteger) + 127u;
  return series * __builtin_bit_cast(float, exponent << 23);
}

// The normal distribution at x: Phi(x) = P(X <= x), and its density phi(x).
struct Normal {
  float cdf, density;
};

// cdf and density are within 2^-22 of the true values. Phi(-u) = exp(-u^2 / 2) q(t) with t = 1 / (1
// + 0.295 u), the form of Hastings (Abramowitz & Stegun 1964, 26.2.17); q, of degree 8,
// interpolates Phi(-u) exp(u^2 / 2) at the Chebyshev nodes of t for u in [0, 13], with a relative
// error below 6e-8.
SPAN_FN Normal normal(float x) {
  const float u = fabsf(x);
  const float bell = exp_approx(-0.5f * u * u);
  const float t = 1.f / fmaf(0.295f, u, 1.f);
  float q = fmaf(t, 0.0396621087f, -0.184563205f);
  q = fmaf(q, t, 0.273389733f);
  q = fmaf(q, t, -0.119778444f);
  q = fmaf(q, t, 0.168161231f);
  q = fmaf(q, t, 0.0839443859f);
  q = fmaf(q, t, 0.121905087f);
  q = fmaf(q, t, 0.117260408f);
  q = fmaf(q, t, 1.87073806e-5f);
  const float tail = bell * q;
  return {select(x < 0, tail, 1.f - tail), bell * 0.398942280f};
}

}  // namespace annulus
