// Copies in fp32 keep the leading dimensions, so that the product is the same call.
#include "kernels/cpu/cublas/gemm_formats.h"

#include <vector>

#include "kernels/cpu/cudart/device.h"

namespace annulus::cpu {
namespace {

// From a column-major matrix's first element to its last.
std::size_t extent(std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  return rows == 0 || columns == 0 ? 0 : std::size_t(leading * (columns - 1) + rows);
}

// Kept between calls: what cuBLAS needs beside the caller's workspace is its own.
struct Copies {
  std::vector<float> a, b, c;
};

const float* read(Format format, const void* matrix, std::size_t count, std::vector<float>& copy) {
  if (format == Format::fp32) return static_cast<const float*>(matrix);
  copy.resize(count);
  read_numbers(format, matrix, copy.data(), count);
  return copy.data();
}

float* room_for_result(const FormattedGemm& gemm, std::vector<float>& copy) {
  if (gemm.output == Format::fp32) return static_cast<float*>(gemm.c);
  const Gemm& p = gemm.product;
  copy.resize(extent(p.m, p.n, p.ldc));
  if (p.beta != 0.0f) read_numbers(gemm.output, gemm.c, copy.data(), copy.size());
  return copy.data();
}

// Column by column: what lies between them is not the product's.
void store(const FormattedGemm& gemm, const float* result) {
  const Gemm& p = gemm.product;
  parallel(std::size_t(p.n), [&](std::size_t column) {
    const std::size_t first = column * std::size_t(p.ldc);
    auto* const to = static_cast<std::byte*>(gemm.c) + first * bytes_of(gemm.output);
    write_numbers_here(gemm.output, result + first, to, std::size_t(p.m));
  });
}

}  // namespace

void run_gemm(const FormattedGemm& gemm) {
  thread_local Copies copies;
  Gemm p = gemm.product;
  p.a = read(gemm.input, gemm.a, p.transpose_a ? extent(p.k, p.m, p.lda) : extent(p.m, p.k, p.lda),
             copies.a);
  p.b = read(gemm.input, gemm.b, p.transpose_b ? extent(p.n, p.k, p.ldb) : extent(p.k, p.n, p.ldb),
             copies.b);
  p.c = room_for_result(gemm, copies.c);
  run_gemm(p);
  if (gemm.output != Format::fp32) store(gemm, p.c);
}

}  // namespace annulus::cpu
