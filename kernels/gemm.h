// Row-major SGEMM over cuBLAS. Called by engine/layers/dense.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "kernels/span.h"

namespace annulus {

class CublasHandle {
 public:
  CublasHandle();
  ~CublasHandle();
  CublasHandle(CublasHandle&& other) noexcept;
  CublasHandle& operator=(CublasHandle&&) = delete;
  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

enum class Transpose { no, yes };

// c[m,n] = op(a)[m,k] * op(b)[k,n] + beta * c, everything row-major and dense.
void gemm(const CublasHandle& handle, cudaStream_t stream, Transpose ta, Transpose tb, int m, int n,
          int k, Span<const float> a, Span<const float> b, float beta, Span<float> c);

}  // namespace annulus
