// Philox for CPU forms: eight consecutive blocks at once in AVX2 registers, the same numbers as
// philox() (tests/kernels/philox_test). Not for nvcc. Called by kernels/dropout.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/philox.h"

namespace annulus {

// Four blocks, one per 64-bit lane. Only the low halves mean anything: the multiplier reads no
// more, and so the high halves of the products need not be cleared.
struct PhiloxLanes {
  __m256i x, y, z, w;
};

SPAN_FN PhiloxLanes philox_rounds(PhiloxLanes c, std::uint64_t seed) {
  using K = PhiloxConstants;
  const __m256i multiplier0 = _mm256_set1_epi64x(K::multiplier0);
  const __m256i multiplier1 = _mm256_set1_epi64x(K::multiplier1);
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < K::rounds; ++round) {
    const __m256i product0 = _mm256_mul_epu32(multiplier0, c.x);
    const __m256i product1 = _mm256_mul_epu32(multiplier1, c.z);
    const __m256i keyed_y = _mm256_xor_si256(c.y, _mm256_set1_epi64x(key0));
    const __m256i keyed_w = _mm256_xor_si256(c.w, _mm256_set1_epi64x(key1));
    c = {_mm256_xor_si256(_mm256_srli_epi64(product1, 32), keyed_y), product1,
         _mm256_xor_si256(_mm256_srli_epi64(product0, 32), keyed_w), product0};
    key0 += K::increment0;
    key1 += K::increment1;
  }
  return c;
}

// bits[16] = the four blocks one after another, each as x, y, z, w.
SPAN_FN void store_blocks(const PhiloxLanes& c, std::uint32_t* bits) {
  const __m256i xy = _mm256_blend_epi32(c.x, _mm256_slli_epi64(c.y, 32), 0b10101010);
  const __m256i zw = _mm256_blend_epi32(c.z, _mm256_slli_epi64(c.w, 32), 0b10101010);
  const __m256i blocks02 = _mm256_unpacklo_epi64(xy, zw);
  const __m256i blocks13 = _mm256_unpackhi_epi64(xy, zw);
  __m256i* out = reinterpret_cast<__m256i*>(bits);
  _mm256_storeu_si256(out, _mm256_permute2x128_si256(blocks02, blocks13, 0x20));
  _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(blocks02, blocks13, 0x31));
}

// bits[32] = philox(seed, purpose, step, position, first_block + 0 … 7), one block after another.
SPAN_FN void philox_8_blocks(std::uint64_t seed, std::uint32_t purpose, std::uint32_t step,
                             std::uint32_t position, std::uint32_t first_block,
                             std::uint32_t* bits) {
  const __m256i first = _mm256_set1_epi64x(first_block);
  const __m256i low = _mm256_add_epi32(first, _mm256_setr_epi64x(0, 1, 2, 3));
  const __m256i high = _mm256_add_epi32(first, _mm256_setr_epi64x(4, 5, 6, 7));
  const __m256i y = _mm256_set1_epi64x(position);
  const __m256i z = _mm256_set1_epi64x(step);
  const __m256i w = _mm256_set1_epi64x(purpose);
  store_blocks(philox_rounds({low, y, z, w}, seed), bits);
  store_blocks(philox_rounds({high, y, z, w}, seed), bits + 16);
}

}  // namespace annulus
