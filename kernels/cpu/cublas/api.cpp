// cuBLAS's entry points on the CPU device. Arguments are checked as the reference says, in its
// order; the product runs on the handle's stream (gemm_formats.cpp). Host scalars only, which are
// read when the call is made.
#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <new>

#include "kernels/cpu/cublas/gemm_formats.h"
#include "kernels/cpu/cudart/device.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  void* workspace = nullptr;  // the caller's; none: the library's own
  std::size_t workspace_bytes = 0;
};

namespace {

using annulus::cpu::Format;

bool is_operation(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

// A column-major matrix.
template <class Void>
struct Matrix {
  Void* data;
  Format format;
  int rows, columns, leading;

  bool leading_holds() const { return leading >= std::max(1, rows); }
  // In memory, from its first element to its last.
  annulus::cpu::Access access(bool write) const {
    if (rows == 0 || columns == 0) return {nullptr, 0, write};
    const std::size_t elements =
        std::size_t(leading) * std::size_t(columns - 1) + std::size_t(rows);
    return {data, elements * bytes_of(format), write};
  }
};

struct Operation {
  const char* name;
  bool transpose_a, transpose_b;
  int m, n, k;
};

cublasStatus_t multiply(cublasHandle_t handle, const Operation& operation, const float* alpha,
                        const Matrix<const void>& a, const Matrix<const void>& b, const float* beta,
                        const Matrix<void>& c) {
  const auto& [name, ta, tb, m, n, k] = operation;
  if (!a.leading_holds() || !b.leading_holds() || !c.leading_holds() || !alpha || !beta)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  const annulus::cpu::Gemm product{ta,        tb,      m,         n,     k,       *alpha,   nullptr,
                                   a.leading, nullptr, b.leading, *beta, nullptr, c.leading};
  const annulus::cpu::FormattedGemm gemm{product, a.data, b.data, c.data, a.format, c.format};
  const cudaError_t queued =
      annulus::cpu::enqueue(handle->stream, name,
                            {a.access(false),
                             b.access(false),
                             c.access(true),
                             {handle->workspace, handle->workspace_bytes, true}},
                            [gemm] { annulus::cpu::run_gemm(gemm); });
  return queued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

// False for what no matrix here holds.
bool read_type(cudaDataType type, Format& format) {
  switch (type) {
    case CUDA_R_32F:
      format = Format::fp32;
      return true;
    case CUDA_R_16BF:
      format = Format::bf16;
      return true;
    case CUDA_R_16F:
      format = Format::fp16;
      return true;
    default:
      return false;
  }
}

// What the inputs of a product of fp32 are rounded to.
bool uses_tf32(cublasHandle_t handle, cublasComputeType_t compute) {
  const int mode = handle->math_mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  return compute == CUBLAS_COMPUTE_32F_FAST_TF32 || mode == CUBLAS_TF32_TENSOR_OP_MATH;
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
  handle->workspace = nullptr;
  handle->workspace_bytes = 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!stream) return CUBLAS_STATUS_INVALID_VALUE;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  constexpr std::uintptr_t kAlignment = 256;
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (bytes > 0 && (!annulus::cpu::is_device_memory(workspace, bytes) ||
                    reinterpret_cast<std::uintptr_t>(workspace) % kAlignment != 0)) {
    annulus::cpu::report("workspace",
                         "cublasSetWorkspace: not device memory of the given size, aligned to 256");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  handle->workspace = workspace;
  handle->workspace_bytes = bytes;
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
  return cublasGemmEx(handle, transpose_a, transpose_b, m, n, k, alpha, a, CUDA_R_32F, lda, b,
                      CUDA_R_32F, ldb, beta, c, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                            cublasOperation_t transpose_b, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType type_a, int lda, const void* b,
                            cudaDataType type_b, int ldb, const void* beta, void* c,
                            cudaDataType type_c, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_operation(transpose_a) || !is_operation(transpose_b) || m < 0 || n < 0 || k < 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  Format input{}, output{};
  if (type_a != type_b || !read_type(type_a, input) || !read_type(type_c, output) ||
      (output != input && output != Format::fp32))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool fast = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if ((compute != CUBLAS_COMPUTE_32F && !fast) || (fast && input != Format::fp32))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (input == Format::fp32 && uses_tf32(handle, compute)) input = Format::tf32;
  const bool ta = transpose_a != CUBLAS_OP_N, tb = transpose_b != CUBLAS_OP_N;
  return multiply(handle, {"cublasGemmEx", ta, tb, m, n, k}, static_cast<const float*>(alpha),
                  {a, input, ta ? k : m, ta ? m : k, lda}, {b, input, tb ? n : k, tb ? k : n, ldb},
                  static_cast<const float*>(beta), {c, output, m, n, ldc});
}
