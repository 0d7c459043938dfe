// bfloat16 on the CPU device: storage and the conversions that the house uses, under CUDA's names.
// Branch-free on integers, so that loops over them vectorise. Round to nearest even; every NaN
// becomes 0x7FFF, as on the GPU.
#pragma once

#include <bit>
#include <cstdint>

struct __nv_bfloat16_raw {
  unsigned short x;
};

struct __nv_bfloat16;
inline __nv_bfloat16 __float2bfloat16_rn(float value);
inline float __bfloat162float(__nv_bfloat16 value);

struct alignas(2) __nv_bfloat16 {
  __nv_bfloat16() = default;
  __nv_bfloat16(const __nv_bfloat16_raw& raw) : __x(raw.x) {}
  __nv_bfloat16(float value) { *this = __float2bfloat16_rn(value); }
  operator float() const { return __bfloat162float(*this); }
  operator __nv_bfloat16_raw() const { return {__x}; }

 private:
  unsigned short __x;
};
typedef __nv_bfloat16 nv_bfloat16;

inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return __nv_bfloat16_raw{static_cast<unsigned short>(is_nan ? 0x7FFFu : rounded)};
}

inline __nv_bfloat16 __float2bfloat16(float value) { return __float2bfloat16_rn(value); }

inline float __bfloat162float(__nv_bfloat16 value) {
  const std::uint32_t bits = static_cast<__nv_bfloat16_raw>(value).x;
  return std::bit_cast<float>(bits << 16);
}
