// The half types' conversions, against the processor's own (F16C) and against double arithmetic.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace annulus::test {
namespace {

std::uint16_t bits(__half value) { return static_cast<__half_raw>(value).x; }
std::uint16_t bits(__nv_bfloat16 value) { return static_cast<__nv_bfloat16_raw>(value).x; }

// What the processor rounds a float to, to nearest even.
int processors_half(float value) {
  return _mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT), 0);
}

// Floats of every exponent and sign with fractions around ties.
template <class Check>
void for_many_floats(Check&& check) {
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x0FFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u,
                                    0x8001u, 0xF000u, 0xFFFFu}) {
      check(std::bit_cast<float>(high << 16 | low));
    }
  }
}

TEST(HalfTest, EveryHalfBecomesTheFloatThatTheProcessorSays) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const auto half = static_cast<std::uint16_t>(h);
    const float ours = __half2float(__half_raw{half});
    const float theirs = _cvtsh_ss(half);
    if (std::isnan(theirs)) {
      ASSERT_TRUE(std::isnan(ours)) << h;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(ours), std::bit_cast<std::uint32_t>(theirs)) << h;
    }
  }
}

TEST(HalfTest, FloatsRoundToTheHalfThatTheProcessorSays) {
  for_many_floats([](float value) {
    if (std::isnan(value)) {
      ASSERT_EQ(bits(__float2half_rn(value)), 0x7FFF);
    } else {
      ASSERT_EQ(bits(__float2half_rn(value)), processors_half(value)) << value;
    }
  });
}

TEST(HalfTest, FloatsRoundToTheNearestBfloat16) {
  for_many_floats([](float value) {
    const float rounded = __bfloat162float(__float2bfloat16_rn(value));
    if (std::isnan(value)) {
      ASSERT_EQ(bits(__float2bfloat16_rn(value)), 0x7FFF);
      return;
    }
    if (std::isinf(rounded)) {
      // Beyond the largest finite one plus half its unit in the last place.
      ASSERT_GE(std::fabs(value), 0x1.FFp127f);
      return;
    }
    const int exponent = std::max(value == 0 ? -126 : std::ilogb(value), -126);
    const double unit = std::ldexp(1.0, exponent - 7);
    const double error = std::fabs(static_cast<double>(rounded) - static_cast<double>(value));
    ASSERT_LE(error, unit / 2) << value;
    if (error == unit / 2) {
      ASSERT_EQ(bits(__float2bfloat16_rn(value)) & 1, 0) << value;
    }
  });
}

}  // namespace
}  // namespace annulus::test
