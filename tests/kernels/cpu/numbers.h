// Test inputs: numbers in [-1, 1) with twenty bits, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace annulus::test {

inline std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = float(seed >> 12) / float(1 << 19) - 1.0f;
  }
  return values;
}

}  // namespace annulus::test
