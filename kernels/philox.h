// Philox4x32-10, a counter-based generator: the numbers depend on the key and the counter alone, never on who asks first.
// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11. Called by every kernel and host routine that needs
// randomness.
#pragma once

#include <cstdint>

#include "kernels/span.h"

namespace annulus {

struct Uint4 {
  std::uint32_t x, y, z, w;
};

// The house's use of the 128-bit counter: (block of four numbers, position of the sample, step or epoch, purpose).
SPAN_FN Uint4 philox(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
                     std::uint32_t position, std::uint32_t block) {
  std::uint32_t c0 = block, c1 = position, c2 = step, c3 = purpose;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

// Uniform in [0,1) with 24 bits.
SPAN_FN float uniform(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

}  // namespace annulus
