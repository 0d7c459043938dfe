// The arithmetic of an all-reduce, for every type. Invariant: elements are independent, and half
// types add in fp32 and round after each add, so bits depend on the order of the calls alone, never
// on how a buffer is cut. Called by both transports.
#pragma once

#include <nccl.h>

#include <cstddef>

namespace annulus::cpu::nccl {

// left[count] + right[count] -> out[count]; out may be left or right.
void add(ncclDataType_t type, const std::byte* left, const std::byte* right, std::byte* out,
         std::size_t count);

// data[count] / divisor -> data[count]; integers round towards zero.
void divide(ncclDataType_t type, std::byte* data, int divisor, std::size_t count);

}  // namespace annulus::cpu::nccl
