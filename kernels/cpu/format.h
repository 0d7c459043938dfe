// The number formats that convolutions and matrix products of the CPU device read and write, and
// the roundings between them and fp32, in which it computes. A number is rounded as a GPU rounds
// it, whoever's thread does so: results do not depend on the number of threads. Called by
// kernels/cpu/cudnn and kernels/cpu/cublas.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace annulus::cpu {

// tf32 is fp32 in memory, and inputs are rounded before they are multiplied.
enum class Format { fp32, tf32, bf16, fp16 };

inline std::size_t bytes_of(Format format) {
  return format == Format::bf16 || format == Format::fp16 ? 2 : 4;
}

// To 10 bits behind the point, the nearest and of two the larger in magnitude, as cvt.rna.tf32.f32
// does (PTX ISA, "cvt"), which is what NVIDIA's headers make of fp32 for tensor cores (CUDA C++
// programming guide, "Alternate Floating Point", __float_to_tf32). Infinity and NaN stay.
inline float round_to_tf32(float value) {
  constexpr std::uint32_t kDropped = 13, kHalf = 1u << (kDropped - 1);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + kHalf) >> kDropped << kDropped;
  const bool is_finite = (bits & 0x7F800000u) != 0x7F800000u;
  return std::bit_cast<float>(is_finite ? rounded : bits);
}

// What a product reads: `count` numbers of a format as fp32, tf32's rounded. On the pool;
// `read_numbers_here` on this thread alone.
void read_numbers(Format format, const void* from, float* to, std::size_t count);
void read_numbers_here(Format format, const void* from, float* to, std::size_t count);

// What is stored: rounded to nearest even. On the pool, and on this thread alone.
void write_numbers(Format format, const float* from, void* to, std::size_t count);
void write_numbers_here(Format format, const float* from, void* to, std::size_t count);

}  // namespace annulus::cpu
