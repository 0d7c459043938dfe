// Philox against the known answers that come with Random123, and the AVX2 form against philox().
#include "kernels/philox.h"

#include <gtest/gtest.h>

#include <array>

#include "kernels/philox_avx2.h"

namespace annulus {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words words(const Uint4& block) { return {block.x, block.y, block.z, block.w}; }

// Counter and key in Random123's order; philox()'s parameters are the counter from the last word
// to the first.
Words philox_of(const Words& counter, std::uint32_t key0, std::uint32_t key1) {
  return words(
      philox(std::uint64_t{key1} << 32 | key0, counter[3], counter[2], counter[1], counter[0]));
}

// kat_vectors of Random123, "philox4x32 10".
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox_of({0, 0, 0, 0}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox_of({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_of({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, EightBlocksAtOnceAreTheSameNumbers) {
  const std::uint64_t seed = 0xfedcba9876543210;
  for (std::uint32_t first_block : {0u, 1u, 1000u, 0xfffffffcu}) {  // the last one wraps
    std::array<std::uint32_t, 32> bits;
    philox_8_blocks(seed, 1003, 0x80000001u, 0xffffffffu, first_block, bits.data());
    for (std::uint32_t b = 0; b < 8; ++b) {
      const Words at_once{bits[4 * b], bits[4 * b + 1], bits[4 * b + 2], bits[4 * b + 3]};
      EXPECT_EQ(at_once, words(philox(seed, 1003, 0x80000001u, 0xffffffffu, first_block + b)))
          << "block " << first_block << " + " << b;
    }
  }
}

TEST(Philox, UniformNumbersStayInTheirRange) {
  EXPECT_EQ(uniform(0), 0.f);
  EXPECT_EQ(uniform(0xffffffffu), 1 - 0x1p-24f);
  EXPECT_EQ(uniform_below(0, 7), 0u);
  EXPECT_EQ(uniform_below(0xffffffffu, 7), 6u);
  EXPECT_EQ(uniform_below(0xffffffffu, 1), 0u);
  EXPECT_EQ(uniform_below(0x80000000u, 0xffffffffu), 0x7fffffffu);
}

}  // namespace
}  // namespace annulus
