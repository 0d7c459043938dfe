// cuBLAS's entry points on the CPU device. Arguments are checked as the reference says, in its
// order; the product runs on the handle's stream (gemm_tiles.cpp). Host scalars only, which are
// read when the call is made.
#include <cublas_v2.h>

#include <algorithm>
#include <new>

#include "kernels/cpu/cublas/gemm_tiles.h"
#include "kernels/cpu/cudart/device.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
};

namespace {

bool is_operation(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

// A column-major matrix in memory: from its first element to its last.
annulus::cpu::Access access(const float* data, int rows, int columns, int leading, bool write) {
  if (rows == 0 || columns == 0) return {nullptr, 0, write};
  const std::size_t elements = std::size_t(leading) * std::size_t(columns - 1) + std::size_t(rows);
  return {data, elements * sizeof(float), write};
}

}  // namespace

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the function needs a feature that the device lacks";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "an access to device memory failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to run on the device";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the function is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "a license check failed";
  }
  return "<unknown>";
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new (std::nothrow) cublasContext;
  return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!stream) return CUBLAS_STATUS_INVALID_VALUE;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (bytes > 0 && !annulus::cpu::is_device_memory(workspace, bytes)) {
    annulus::cpu::report("workspace", "cublasSetWorkspace: not device memory of the given size");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->math_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!mode) return CUBLAS_STATUS_INVALID_VALUE;
  *mode = handle->math_mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transpose_a,
                              cublasOperation_t transpose_b, int m, int n, int k,
                              const float* alpha, const float* a, int lda, const float* b, int ldb,
                              const float* beta, float* c, int ldc) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_operation(transpose_a) || !is_operation(transpose_b) || m < 0 || n < 0 || k < 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool ta = transpose_a != CUBLAS_OP_N, tb = transpose_b != CUBLAS_OP_N;
  const int rows_a = ta ? k : m, columns_a = ta ? m : k;
  const int rows_b = tb ? n : k, columns_b = tb ? k : n;
  if (lda < std::max(1, rows_a) || ldb < std::max(1, rows_b) || ldc < std::max(1, m) || !alpha ||
      !beta)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;

  const annulus::cpu::Gemm gemm{ta, tb, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc};
  const cudaError_t queued =
      annulus::cpu::enqueue(handle->stream, "cublasSgemm",
                            {access(a, rows_a, columns_a, lda, false),
                             access(b, rows_b, columns_b, ldb, false), access(c, m, n, ldc, true)},
                            [gemm] { annulus::cpu::run_gemm(gemm); });
  return queued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
