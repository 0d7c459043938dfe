// exp_approx and normal against the C library in double: the errors that kernels/math.h states.
#include "kernels/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace annulus {
namespace {

TEST(MathTest, ExpIsWithinTwoUnitsInTheLastPlace) {
  double worst = 0;
  for (float x = -87; x < 88; x += 0.0037f) {
    const double want = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::fabs(exp_approx(x) - want) / want);
  }
  EXPECT_LT(worst, 2 * 0x1p-23);
}

TEST(MathTest, NormalIsWithinItsStatedError) {
  double cdf_error = 0, density_error = 0;
  for (float x = -14; x < 14; x += 0.0011f) {
    const Normal n = normal(x);
    const double cdf = 0.5 * std::erfc(-static_cast<double>(x) / std::numbers::sqrt2);
    const double density =
        std::exp(-0.5 * x * static_cast<double>(x)) / std::sqrt(2 * std::numbers::pi);
    cdf_error = std::max(cdf_error, std::fabs(n.cdf - cdf));
    density_error = std::max(density_error, std::fabs(n.density - density));
  }
  EXPECT_LT(cdf_error, 0x1p-22);
  EXPECT_LT(density_error, 0x1p-22);
}

TEST(MathTest, EdgesOfTheRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(exp_approx(0), 1);
  EXPECT_LT(exp_approx(-infinity), 1e-37f);
  EXPECT_GT(exp_approx(infinity), 1e38f);
  EXPECT_TRUE(std::isnan(exp_approx(nan)));
  EXPECT_EQ(normal(infinity).cdf, 1);
  EXPECT_LT(normal(-infinity).cdf, 1e-37f);
  EXPECT_TRUE(std::isnan(normal(nan).cdf));
}

}  // namespace
}  // namespace annulus
