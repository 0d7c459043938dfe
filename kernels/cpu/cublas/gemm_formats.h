// A matrix product of numbers in any Format: inputs are read as fp32, the product is that of
// gemm_tiles.h, and what is stored is rounded once. Products of halves and of TF32 are exact in
// fp32, as on tensor cores; sums are fp32. Called by api.cpp.
#pragma once

#include "kernels/cpu/cublas/gemm_tiles.h"
#include "kernels/cpu/format.h"

namespace annulus::cpu {

struct FormattedGemm {
  Gemm product;  // all but its three pointers
  const void* a;
  const void* b;
  void* c;
  Format input, output;  // of a and b, and of c
};

// Runs on the calling thread and the pool, and returns when done.
void run_gemm(const FormattedGemm& gemm);

}  // namespace annulus::cpu
