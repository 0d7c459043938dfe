// Row-major GEMM by cuBLAS: a row-major matrix is the transpose of a column-major one, so c^T =
// op(b)^T op(a)^T.
#include "kernels/gemm.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/check.h"

namespace annulus {

CublasHandle::CublasHandle() { CUBLAS_CHECK(cublasCreate(&handle_)); }
CublasHandle::~CublasHandle() {
  if (handle_) cublasDestroy(handle_);
}
CublasHandle::CublasHandle(CublasHandle&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

void gemm(const CublasHandle& handle, cudaStream_t stream, Transpose ta, Transpose tb, int m, int n,
          int k, Span<const float> a, Span<const float> b, float beta, Span<float> c) {
  const auto product = [](int rows, int columns) {
    return std::size_t(rows) * std::size_t(columns);
  };
  if (a.size != product(m, k) || b.size != product(k, n) || c.size != product(m, n)) {
    throw DeviceError(fmt::format("gemm {}x{}x{}: a, b, c hold {}, {}, {} elements", m, n, k,
                                  a.size, b.size, c.size));
  }
  const auto operation = [](Transpose t) {
    return t == Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  const int row_of_a = ta == Transpose::yes ? m : k;
  const int row_of_b = tb == Transpose::yes ? k : n;
  const float alpha = 1.0f;
  CUBLAS_CHECK(cublasSetStream(handle.get(), stream));
  CUBLAS_CHECK(cublasSgemm(handle.get(), operation(tb), operation(ta), n, m, k, &alpha, b.data,
                           row_of_b, a.data, row_of_a, &beta, c.data, n));
}

}  // namespace annulus
