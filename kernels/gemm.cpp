// Row-major GEMM by cuBLAS: a row-major matrix is the transpose of a column-major one, so c^T =
// op(b)^T op(a)^T.
#include "kernels/gemm.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/check.h"

namespace annulus {

namespace {

// What cuBLAS's guide recommends ("cublasSetWorkspace"): 32 MiB for compute capability 9 and 10,
// less for 12, 4 MiB for others.
std::size_t recommended_workspace() {
  int device = 0, major = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return std::size_t(major >= 9 ? 32 : 4) << 20;
}

// Reductions between a product's parts are fp32 too, not of c's type.
constexpr auto kMathMode =
    cublasMath_t(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

cudaDataType type_of(Element element) {
  switch (element) {
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::fp16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

}  // namespace

CublasHandle::CublasHandle() : workspace_(recommended_workspace()) {
  CUBLAS_CHECK(cublasCreate(&handle_));
  CUBLAS_CHECK(cublasSetMathMode(handle_, kMathMode));
}
CublasHandle::~CublasHandle() {
  if (handle_) cublasDestroy(handle_);
}
CublasHandle::CublasHandle(CublasHandle&& other) noexcept
    : workspace_(std::move(other.workspace_)), handle_(std::exchange(other.handle_, nullptr)) {}

// In this order: setting the stream takes the workspace away.
void CublasHandle::use(cudaStream_t stream) const {
  CUBLAS_CHECK(cublasSetStream(handle_, stream));
  CUBLAS_CHECK(cublasSetWorkspace(handle_, workspace_.span().data, workspace_.bytes()));
}

void gemm(const CublasHandle& handle, cudaStream_t stream, Transpose ta, Transpose tb, int m, int n,
          int k, AnyInput a, AnyInput b, float beta, AnyOutput c, const Precision& precision) {
  const auto product = [](int rows, int columns) {
    return std::size_t(rows) * std::size_t(columns);
  };
  if (a.size != product(m, k) || b.size != product(k, n) || c.size != product(m, n)) {
    throw DeviceError(fmt::format("gemm {}x{}x{}: a, b, c hold {}, {}, {} elements", m, n, k,
                                  a.size, b.size, c.size));
  }
  const Element element = precision.element;
  if (a.element != element || b.element != element ||
      (c.element != element && c.element != Element::fp32)) {
    throw DeviceError(fmt::format("gemm in {}: a, b, c hold {}, {}, {}", precision.name,
                                  name_of(a.element), name_of(b.element), name_of(c.element)));
  }
  const auto operation = [](Transpose t) {
    return t == Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  const int row_of_a = ta == Transpose::yes ? m : k;
  const int row_of_b = tb == Transpose::yes ? k : n;
  const bool tf32 = element == Element::fp32 && precision.reduced_inputs;
  const cublasComputeType_t compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const float alpha = 1.0f;
  handle.use(stream);
  CUBLAS_CHECK(cublasGemmEx(handle.get(), operation(tb), operation(ta), n, m, k, &alpha, b.data,
                            type_of(element), row_of_b, a.data, type_of(element), row_of_a, &beta,
                            c.data, type_of(c.element), n, compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace annulus
