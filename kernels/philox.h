// Philox4x32-10, a counter-based generator: the numbers depend on the key and the counter alone,
// never on who asks first. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11.
// Called by every kernel and host routine that needs randomness; kernels/philox_avx2.h makes the
// same numbers many at a time.
#pragma once

#include <cstdint>

#include "kernels/span.h"

namespace annulus {

struct Uint4 {
  std::uint32_t x, y, z, w;
};

// The constants of Philox4x32 (Salmon et al., section 4.3): round multipliers, key increments.
struct PhiloxConstants {
  static constexpr int rounds = 10;
  static constexpr std::uint32_t multiplier0 = 0xD2511F53u, multiplier1 = 0xCD9E8D57u;
  static constexpr std::uint32_t increment0 = 0x9E3779B9u, increment1 = 0xBB67AE85u;
};

// The house's use of the 128-bit counter: (block of four numbers, position of the sample, step or
// epoch, purpose).
SPAN_FN Uint4 philox(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
                     std::uint32_t position, std::uint32_t block) {
  using K = PhiloxConstants;
  Uint4 c{block, position, step, purpose};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < K::rounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{K::multiplier0} * c.x;
    const std::uint64_t product1 = std::uint64_t{K::multiplier1} * c.z;
    c = {static_cast<std::uint32_t>(product1 >> 32) ^ c.y ^ key0,
         static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ c.w ^ key1,
         static_cast<std::uint32_t>(product0)};
    key0 += K::increment0;
    key1 += K::increment1;
  }
  return c;
}

// Uniform in [0,1) with 24 bits.
SPAN_FN float uniform(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// Uniform in {0, …, bound-1}, bound > 0; no value is likelier than another by more than 2^-32.
SPAN_FN std::uint32_t uniform_below(std::uint32_t bits, std::uint32_t bound) {
  return static_cast<std::uint32_t>(std::uint64_t{bits} * bound >> 32);
}

}  // namespace annulus
