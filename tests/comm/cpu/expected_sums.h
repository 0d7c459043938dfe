// The numbers of the all-reduce tests: each rank's inputs, and their sums in the order that a
// transport promises, in rank order or round the ring.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/sum_ranks.h"

namespace annulus::test {

// Empty, one, odd, around the border between small and large messages, and beyond any block.
inline const std::vector<std::size_t> kCounts = {0, 1, 3, 61, 1023, 2048, 2049, 4099, 70'001};

template <class T>
T value(int rank, std::size_t i) {
  const auto mixed =
      static_cast<std::uint32_t>((i * 7 + static_cast<std::size_t>(rank) * 131 + 1) * 2654435761u);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(mixed);
  } else {
    return T(static_cast<float>(mixed % 200'003) / 997.f - 100.f);
  }
}

template <class T>
std::vector<T> inputs_of(int rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value<T>(rank, i);
  return values;
}

template <class T>
T sum_of_two(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return T(static_cast<float>(a) + static_cast<float>(b));
  }
}

inline int first_rank(bool ring, int world, std::size_t count, std::size_t i) {
  int chunk = 0;
  while (ring_chunk_begin(count, world, chunk + 1) <= i) ++chunk;
  return ring ? ring_first_rank(world, chunk) : 0;
}

template <class T>
std::vector<T> expected_sum(bool ring, int world, std::size_t count) {
  std::vector<T> sums(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int first = first_rank(ring, world, count, i);
    sums[i] = value<T>(first, i);
    for (int added = 1; added < world; ++added)
      sums[i] = sum_of_two(sums[i], value<T>((first + added) % world, i));
  }
  return sums;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace annulus::test
