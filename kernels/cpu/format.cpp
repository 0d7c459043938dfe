// Loops over the conversions of cuda_bf16.h and cuda_fp16.h, cut for the pool.
#include "kernels/cpu/format.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/cudart/device.h"

namespace annulus::cpu {
namespace {

// About 10 us of conversions: long against waking a thread.
constexpr std::size_t kNumbersPerPiece = 1 << 14;

// Calls work(first, count) for pieces of [0, count), on the pool.
template <class Work>
void in_pieces(std::size_t count, Work&& work) {
  const std::size_t pieces = (count + kNumbersPerPiece - 1) / kNumbersPerPiece;
  parallel(pieces, [&](std::size_t piece) {
    const std::size_t first = piece * kNumbersPerPiece;
    work(first, std::min(kNumbersPerPiece, count - first));
  });
}

template <class From, class To>
void convert(const void* from, void* to, std::size_t first, std::size_t count) {
  const From* __restrict__ source = static_cast<const From*>(from) + first;
  To* __restrict__ target = static_cast<To*>(to) + first;
  for (std::size_t i = 0; i < count; ++i) target[i] = To(float(source[i]));
}

void round_inputs(const void* from, float* to, std::size_t first, std::size_t count) {
  const float* __restrict__ source = static_cast<const float*>(from) + first;
  float* __restrict__ target = to + first;
  for (std::size_t i = 0; i < count; ++i) target[i] = round_to_tf32(source[i]);
}

void read_piece(Format format, const void* from, float* to, std::size_t first, std::size_t count) {
  switch (format) {
    case Format::bf16:
      return convert<__nv_bfloat16, float>(from, to, first, count);
    case Format::fp16:
      return convert<__half, float>(from, to, first, count);
    case Format::tf32:
      return round_inputs(from, to, first, count);
    case Format::fp32:
      return convert<float, float>(from, to, first, count);
  }
}

void write_piece(Format format, const float* from, void* to, std::size_t first, std::size_t count) {
  switch (format) {
    case Format::bf16:
      return convert<float, __nv_bfloat16>(from, to, first, count);
    case Format::fp16:
      return convert<float, __half>(from, to, first, count);
    case Format::tf32:
    case Format::fp32:
      return convert<float, float>(from, to, first, count);
  }
}

}  // namespace

void read_numbers(Format format, const void* from, float* to, std::size_t count) {
  in_pieces(count, [&](std::size_t first, std::size_t some) {
    read_piece(format, from, to, first, some);
  });
}

void read_numbers_here(Format format, const void* from, float* to, std::size_t count) {
  read_piece(format, from, to, 0, count);
}

void write_numbers(Format format, const float* from, void* to, std::size_t count) {
  in_pieces(count, [&](std::size_t first, std::size_t some) {
    write_piece(format, from, to, first, some);
  });
}

void write_numbers_here(Format format, const float* from, void* to, std::size_t count) {
  write_piece(format, from, to, 0, count);
}

}  // namespace annulus::cpu
