// Precision: the number format that a model computes in, defined here alone. It says what
// activations, their gradients and the weights that layers read hold, and whether products may
// round their inputs further. Master weights, weight gradients, biases, statistics and sums are
// fp32 in all of them. Called by conv, gemm and engine/forecast.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace annulus {

// What one number of an array is in memory.
enum class Element { fp32, bf16, fp16 };

constexpr std::size_t bytes_of(Element element) { return element == Element::fp32 ? 4 : 2; }
constexpr std::string_view name_of(Element element) {
  constexpr std::array<std::string_view, 3> kNames = {"fp32", "bf16", "fp16"};
  return kNames[std::size_t(element)];
}

struct Precision {
  std::string_view name;  // of --precision, and of a peak in engine/forecast's GPUs
  Element element;
  bool reduced_inputs;  // what multiplies may round its inputs: fp32 to TF32

  constexpr std::size_t bytes() const { return bytes_of(element); }
};

inline constexpr Precision kFp32{"fp32", Element::fp32, false};
inline constexpr Precision kTf32{"tf32", Element::fp32, true};  // fp32 in memory
inline constexpr Precision kBf16{"bf16", Element::bf16, true};
inline constexpr Precision kFp16{"fp16", Element::fp16, true};
inline constexpr std::array kPrecisions = {kFp32, kTf32, kBf16, kFp16};

}  // namespace annulus
