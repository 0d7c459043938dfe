// The casts on every half and bfloat16 number, and at every point between two of them where the
// rounding decides.
#include "kernels/cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda.h"

namespace annulus {
namespace {

template <class Y, class X>
std::vector<Y> cast_on_device(const std::vector<X>& x) {
  const Stream stream;
  const Buffer<X> input(x);
  const Buffer<Y> output(x.size());
  cast(stream.get(), input.cspan(), output.span());
  stream.synchronize();
  return output.download();
}

struct Bfloat16 {
  using Type = __nv_bfloat16;
  static constexpr int kFractionBits = 7, kBias = 127;
};
struct Half {
  using Type = __half;
  static constexpr int kFractionBits = 10, kBias = 15;
};

// What the bits of a 16-bit format mean, from IEEE 754's definition.
template <class Format>
double decode(unsigned bits) {
  const double sign = bits & 0x8000u ? -1 : 1;
  const int fraction = static_cast<int>(bits & ((1u << Format::kFractionBits) - 1));
  const int exponent = static_cast<int>((bits & 0x7fffu) >> Format::kFractionBits);
  if (exponent == 2 * Format::kBias + 1)
    return fraction ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  const int significand = exponent ? (1 << Format::kFractionBits) + fraction : fraction;
  return sign *
         std::ldexp(significand, std::max(exponent, 1) - Format::kBias - Format::kFractionBits);
}

template <class Format>
typename Format::Type from_bits(unsigned bits) {
  return std::bit_cast<typename Format::Type>(static_cast<std::uint16_t>(bits));
}
template <class T>
unsigned bits_of(const T& value) {
  return std::bit_cast<std::uint16_t>(value);
}

template <class Format>
class Cast : public testing::Test {};
using Formats = testing::Types<Half, Bfloat16>;
TYPED_TEST_SUITE(Cast, Formats);

TYPED_TEST(Cast, EveryNumberSurvivesTheWayToFloatAndBack) {
  using T = typename TypeParam::Type;
  std::vector<T> all;
  for (unsigned bits = 0; bits < 0x10000; ++bits) all.push_back(from_bits<TypeParam>(bits));
  const std::vector<float> widened = cast_on_device<float>(all);
  const std::vector<T> back = cast_on_device<T>(widened);
  int wrong = 0;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const double meant = decode<TypeParam>(bits);
    if (std::isnan(meant))
      wrong += !std::isnan(widened[bits]) || !std::isnan(decode<TypeParam>(bits_of(back[bits])));
    else
      wrong += widened[bits] != meant || std::signbit(widened[bits]) != std::signbit(meant) ||
               bits_of(back[bits]) != bits;
  }
  EXPECT_EQ(wrong, 0);
}

// Between each number and the next larger one: the midpoint goes to the even one of the two, the
// floats beside it to the nearer one. Past the largest number the next would be the first of the
// next binade; from its midpoint on the result is infinity.
TYPED_TEST(Cast, RoundsToNearestEven) {
  using T = typename TypeParam::Type;
  const unsigned infinity = static_cast<unsigned>(2 * TypeParam::kBias + 1)
                            << TypeParam::kFractionBits;
  std::vector<float> x;
  std::vector<unsigned> expected;
  for (unsigned low = 0; low < infinity; ++low) {
    const double below = decode<TypeParam>(low);
    const double above =
        low + 1 < infinity ? decode<TypeParam>(low + 1) : 2 * below - decode<TypeParam>(low - 1);
    const auto middle = static_cast<float>((below + above) / 2);
    const float upwards = std::numeric_limits<float>::infinity();
    x.insert(x.end(), {middle, std::nextafterf(middle, 0.f), std::nextafterf(middle, upwards)});
    expected.insert(expected.end(), {low + (low & 1), low, low + 1});
  }
  const std::vector<T> rounded = cast_on_device<T>(x);
  for (float& value : x) value = -value;
  const std::vector<T> negative = cast_on_device<T>(x);
  int wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    wrong += bits_of(rounded[i]) != expected[i] || bits_of(negative[i]) != (expected[i] | 0x8000u);
  EXPECT_EQ(wrong, 0) << "of " << x.size();
}

TYPED_TEST(Cast, ExtremesOfFloat) {
  using T = typename TypeParam::Type;
  using Limits = std::numeric_limits<float>;
  const std::vector<T> y = cast_on_device<T>(
      std::vector<float>{Limits::infinity(), -Limits::infinity(), Limits::max(),
                         Limits::quiet_NaN(), std::bit_cast<float>(0x7f800001u), -0.f});
  EXPECT_EQ(decode<TypeParam>(bits_of(y[0])), Limits::infinity());
  EXPECT_EQ(decode<TypeParam>(bits_of(y[1])), -Limits::infinity());
  EXPECT_EQ(decode<TypeParam>(bits_of(y[2])), Limits::infinity());
  EXPECT_TRUE(std::isnan(decode<TypeParam>(bits_of(y[3]))));
  EXPECT_TRUE(std::isnan(decode<TypeParam>(bits_of(y[4])))) << "a NaN whose fraction is cut off";
  EXPECT_EQ(bits_of(y[5]), 0x8000u);
}

}  // namespace
}  // namespace annulus
