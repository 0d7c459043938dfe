// Row-major matrix products over cuBLAS, in every precision. Called by engine/layers/dense.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "kernels/any_span.h"
#include "kernels/cuda.h"
#include "kernels/precision.h"

namespace annulus {

// With a workspace of its own: cuBLAS's pool would allocate inside a captured graph, and choose
// kernels by what other streams left of it (cuBLAS library guide, "cublasSetWorkspace" and "Results
// Reproducibility"). So a handle is used on one stream at a time.
class CublasHandle {
 public:
  CublasHandle();
  ~CublasHandle();
  CublasHandle(CublasHandle&& other) noexcept;
  CublasHandle& operator=(CublasHandle&&) = delete;
  cublasHandle_t get() const { return handle_; }
  // What is called next runs on this stream.
  void use(cudaStream_t stream) const;

 private:
  Buffer<std::byte> workspace_;
  cublasHandle_t handle_ = nullptr;
};

enum class Transpose { no, yes };

// c[m,n] = op(a)[m,k] * op(b)[k,n] + beta * c, everything row-major and dense. a and b hold the
// precision's element, c that or fp32; sums are fp32. Throws DeviceError, for one where an array is
// of another size or element.
void gemm(const CublasHandle& handle, cudaStream_t stream, Transpose ta, Transpose tb, int m, int n,
          int k, AnyInput a, AnyInput b, float beta, AnyOutput c,
          const Precision& precision = kFp32);

}  // namespace annulus
