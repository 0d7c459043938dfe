// SGEMM on the pool: the result is cut into tiles by its shape alone, and each tile is one
// single-threaded call of oneDNN's sgemm, so that bits do not depend on the number of threads.
// Called by api.cpp.
//
// oneDNN and not OpenBLAS: Debian 12's OpenBLAS 0.3.21 takes CPUs newer than itself for one of 2004
// and is then five times slower (30 against 165 GFLOP/s on a Sapphire Rapids core); oneDNN asks the
// CPU what it can do.
#pragma once

#include <cstdint>

namespace annulus::cpu {

// Column-major: c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c. beta = 0 does not read c.
struct Gemm {
  bool transpose_a, transpose_b;
  std::int64_t m, n, k;
  float alpha;
  const float* a;
  std::int64_t lda;
  const float* b;
  std::int64_t ldb;
  float beta;
  float* c;
  std::int64_t ldc;
};

// Runs on the calling thread and the pool, and returns when done.
void run_gemm(const Gemm& gemm);

}  // namespace annulus::cpu
