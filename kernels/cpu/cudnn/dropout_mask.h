// Masks of cuDNN's dropout on the CPU device: one bit an element, drawn in words of 32 from
// generator states that every draw moves on. Words are shared out by the number of elements alone.
// Called by dropout_api.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/format.h"

namespace annulus::cpu {

struct GeneratorStates {
  std::uint64_t seed;
  std::uint32_t draws;  // masks so far
};
constexpr std::size_t kStatesBytes = 4096;  // of device memory; GeneratorStates at their begin

// Whole words, at least one: as much as the real library asks for.
std::size_t mask_bytes(std::size_t elements);

// The elements that are dropped or kept, computed in fp32.
struct DroppedArrays {
  std::size_t elements;
  Format format;
  const void* in;
  void* out;  // may be `in`
};

// mask: a new one. out[i] = kept ? in[i] / (1 - rate) : 0.
void draw_mask_and_apply(GeneratorStates& states, float rate, const DroppedArrays& arrays,
                         std::uint32_t* mask);

// The same under a mask that is there.
void apply_mask(float rate, const DroppedArrays& arrays, const std::uint32_t* mask);

}  // namespace annulus::cpu
