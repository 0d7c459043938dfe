// cuBLAS, the subset that Annulus uses, with the real library's names and values (cuBLAS library
// guide). Implemented by kernels/cpu/cublas; seen by every source of the cpu preset in place of
// NVIDIA's header.
#pragma once

#include <cuda_runtime.h>
#include <library_types.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
} cublasStatus_t;

typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;

typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,  // a flag beside one of the others
} cublasMath_t;

typedef enum {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
} cublasComputeType_t;

typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;

struct cublasContext;
typedef struct cublasContext* cublasHandle_t;

const char* cublasGetStatusString(cublasStatus_t status);

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);

// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, column-major, alpha and beta on the host.
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transpose_a,
                              cublasOperation_t transpose_b, int m, int n, int k,
                              const float* alpha, const float* a, int lda, const float* b, int ldb,
                              const float* beta, float* c, int ldc);

// The same for matrices of half or bfloat16, c of the same or of float; alpha and beta are float.
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                            cublasOperation_t transpose_b, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType type_a, int lda, const void* b,
                            cudaDataType type_b, int ldb, const void* beta, void* c,
                            cudaDataType type_c, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm);

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSgemm cublasSgemm_v2

#ifdef __cplusplus
}
#endif
