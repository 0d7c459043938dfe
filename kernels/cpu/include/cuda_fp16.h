// IEEE binary16 on the CPU device: storage and the conversions that the house uses, under CUDA's
// names. Branch-free, so that loops over them vectorise. Round to nearest even; every NaN becomes
// 0x7FFF, as on the GPU.
#pragma once

#include <bit>
#include <cstdint>

struct __half_raw {
  unsigned short x;
};

struct __half;
inline __half __float2half_rn(float value);
inline float __half2float(__half value);

struct alignas(2) __half {
  __half() = default;
  __half(const __half_raw& raw) : __x(raw.x) {}
  __half(float value) { *this = __float2half_rn(value); }
  operator float() const { return __half2float(*this); }
  operator __half_raw() const { return {__x}; }

 private:
  unsigned short __x;
};
typedef __half half;

inline __half __float2half_rn(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;

  // Exponent bias 127 -> 15, then 13 fraction bits rounded away.
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
  // Below 2^-14 the result counts units of 2^-24: the ulp of 0.5f, so the addition rounds for us.
  const float shifted = std::bit_cast<float>(magnitude < (113u << 23) ? magnitude : 0u) + 0.5f;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u;

  std::uint32_t half = magnitude < (113u << 23) ? subnormal : normal;
  half = magnitude >= 0x477FF000u ? 0x7C00u : half;  // rounds past 65504: infinity
  half = magnitude > 0x7F800000u ? 0x7FFFu : half | sign;
  return __half_raw{static_cast<unsigned short>(half)};
}

inline __half __float2half(float value) { return __float2half_rn(value); }

inline float __half2float(__half value) {
  const std::uint32_t bits = static_cast<__half_raw>(value).x;
  const std::uint32_t magnitude = (bits & 0x7FFFu) << 13;
  const std::uint32_t normal = magnitude + (112u << 23);  // exponent bias 15 -> 127
  // Between 2^-14 and 2^-13 floats are as far apart as half's subnormals; so no float subnormal
  // comes up, which would cost the CPU a hundred cycles.
  const float subnormal = std::bit_cast<float>(magnitude + (113u << 23)) - 0x1p-14f;

  std::uint32_t result = magnitude < (1u << 23) ? std::bit_cast<std::uint32_t>(subnormal) : normal;
  result |= (bits & 0x7C00u) == 0x7C00u ? 0x7F800000u : 0u;
  return std::bit_cast<float>(result | (bits & 0x8000u) << 16);
}
