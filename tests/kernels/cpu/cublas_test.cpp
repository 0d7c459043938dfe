// cuBLAS on the CPU device: argument checks, leading dimensions, beta, cuts of large products, bits
// against the number of threads. Dense products of every transpose are in the registry
// (kernels/registry/gemm.cpp).
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "kernels/cpu/cudart/reports.h"
#include "kernels/cuda.h"
#include "kernels/gemm.h"
#include "tests/kernels/cpu/bits.h"
#include "tests/kernels/cpu/numbers.h"

namespace annulus {
namespace {

using test::numbers;

struct Product {
  cublasOperation_t ta, tb;
  int m, n, k;
  float alpha, beta;
  int slack;  // added to each leading dimension
};

struct Matrix {
  Matrix(int rows, int columns, int slack, std::uint32_t seed)
      : leading(rows + slack),
        host(numbers(std::size_t(leading) * std::size_t(columns), seed)),
        device(host) {}
  double at(int row, int column, cublasOperation_t transpose) const {
    const bool t = transpose != CUBLAS_OP_N;
    return host[std::size_t(t ? column : row) +
                std::size_t(leading) * std::size_t(t ? row : column)];
  }
  int leading;
  std::vector<float> host;
  Buffer<float> device;
};

// Runs the product and holds every element of c, and the gaps between its columns, against double.
void expect_product(const CublasHandle& handle, const Product& p) {
  const bool ta = p.ta != CUBLAS_OP_N, tb = p.tb != CUBLAS_OP_N;
  const Matrix a(ta ? p.k : p.m, ta ? p.m : p.k, p.slack, 1);
  const Matrix b(tb ? p.n : p.k, tb ? p.k : p.n, p.slack, 2);
  Matrix c(p.m, p.n, p.slack, 3);
  if (p.beta == 0) {  // beta = 0 must not read c
    std::fill(c.host.begin(), c.host.end(), std::numeric_limits<float>::quiet_NaN());
    c.device.upload(c.host);
  }
  ASSERT_EQ(cublasSgemm(handle.get(), p.ta, p.tb, p.m, p.n, p.k, &p.alpha, a.device.cspan().data,
                        a.leading, b.device.cspan().data, b.leading, &p.beta, c.device.span().data,
                        c.leading),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<float> got = c.device.download();
  const double tolerance = 4 * (p.k + 2) * 0x1p-24;  // k roundings of a sum of k products
  double worst = 0;
  bool gaps_hold = true;
  for (int column = 0; column < p.n; ++column) {
    for (int row = 0; row < c.leading; ++row) {
      const std::size_t i = std::size_t(row) + std::size_t(c.leading) * std::size_t(column);
      if (row >= p.m) {
        gaps_hold &= got[i] == c.host[i] || std::isnan(c.host[i]);
        continue;
      }
      double sum = 0;
      for (int inner = 0; inner < p.k; ++inner)
        sum += a.at(row, inner, p.ta) * b.at(inner, column, p.tb);
      const double want = p.alpha * sum + (p.beta == 0 ? 0.0 : p.beta * double(c.host[i]));
      const double error = std::abs(got[i] - want);
      if (!(error <= worst)) worst = error;
    }
  }
  EXPECT_LE(worst, tolerance) << p.m << 'x' << p.n << 'x' << p.k << " transposes " << p.ta << p.tb
                              << " beta " << p.beta;
  EXPECT_TRUE(gaps_hold) << "wrote between columns";
}

TEST(Cublas, MultipliesWithLeadingDimensionsAlphaAndBeta) {
  const CublasHandle handle;
  for (const auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
    for (const auto tb : {CUBLAS_OP_N, CUBLAS_OP_T})
      for (const float beta : {0.0f, 1.0f, -0.5f}) {
        expect_product(handle, {ta, tb, 1, 1, 1, 1, beta, 2});
        expect_product(handle, {ta, tb, 13, 3, 31, 0.5f, beta, 1});
        expect_product(handle, {ta, tb, 65, 33, 17, 1, beta, 3});
      }
}

TEST(Cublas, CutsLargeProductsWithoutLosingAnEdge) {
  const CublasHandle handle;
  for (const auto ta : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    expect_product(handle, {ta, CUBLAS_OP_N, 131, 67, 600, 1, 0, 1});   // cut into rows
    expect_product(handle, {ta, CUBLAS_OP_T, 35, 801, 257, 1, 1, 0});   // into columns
    expect_product(handle, {ta, CUBLAS_OP_N, 259, 130, 250, 1, 0, 0});  // both ways
  }
}

TEST(Cublas, AnEmptyInnerDimensionLeavesBetaTimesC) {
  const CublasHandle handle;
  expect_product(handle, {CUBLAS_OP_N, CUBLAS_OP_N, 5, 4, 0, 1, 0.5f, 1});
  expect_product(handle, {CUBLAS_OP_N, CUBLAS_OP_N, 5, 4, 0, 1, 0, 1});
}

TEST(Cublas, RefusesWhatTheReferenceRefuses) {
  const CublasHandle handle;
  const Buffer<float> c(64);
  const float one = 1;
  const auto sgemm = [&](cublasHandle_t h, int m, int n, int k, const float* alpha, int lda,
                         int ldb, int ldc) {
    float* data = c.span().data;
    return cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, data, lda, data, ldb, &one,
                       data, ldc);
  };
  EXPECT_EQ(sgemm(nullptr, 4, 4, 4, &one, 4, 4, 4), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(sgemm(handle.get(), -1, 4, 4, &one, 4, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm(handle.get(), 4, 4, 4, &one, 3, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm(handle.get(), 4, 4, 4, &one, 4, 3, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm(handle.get(), 4, 4, 4, &one, 4, 4, 3), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm(handle.get(), 4, 4, 4, nullptr, 4, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm(handle.get(), 0, 4, 4, &one, 4, 4, 4), CUBLAS_STATUS_SUCCESS);
  EXPECT_STREQ(cublasGetStatusString(CUBLAS_STATUS_NOT_INITIALIZED),
               "the library was not initialized");
}

TEST(Cublas, ReportsHostMemory) {
  const CublasHandle handle;
  std::vector<float> host(16);
  const Buffer<float> device(16);
  const float one = 1, zero = 0;
  EXPECT_EQ(cublasSgemm(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, host.data(), 4,
                        device.cspan().data, 4, &zero, device.span().data, 4),
            CUBLAS_STATUS_EXECUTION_FAILED);
  ASSERT_EQ(cpu::report_count(), 1u);
  EXPECT_EQ(cpu::reports().front().kind, "host pointer");
  cpu::clear_reports();
  EXPECT_EQ(cublasSetWorkspace(handle.get(), host.data(), 64), CUBLAS_STATUS_INVALID_VALUE);
  ASSERT_EQ(cpu::report_count(), 1u);
  EXPECT_EQ(cpu::reports().front().kind, "workspace");
  cpu::clear_reports();
}

TEST(Cublas, AHandleKeepsItsStreamAndMathMode) {
  const CublasHandle handle;
  const Stream stream;
  cudaStream_t kept = nullptr;
  cublasMath_t mode = CUBLAS_DEFAULT_MATH;
  EXPECT_EQ(cublasSetStream(handle.get(), stream.get()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasGetStream(handle.get(), &kept), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(kept, stream.get());
  EXPECT_EQ(cublasSetMathMode(handle.get(), CUBLAS_PEDANTIC_MATH), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasGetMathMode(handle.get(), &mode), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(mode, CUBLAS_PEDANTIC_MATH);
}

TEST(Cublas, DISABLED_PrintsItsBits) {
  const CublasHandle handle;
  const Stream stream;
  const Buffer<float> a(numbers(64 * 1000, 1)), b(numbers(1000 * 130, 2)), c(64 * 130);
  gemm(handle, stream.get(), Transpose::no, Transpose::no, 64, 130, 1000, a.cspan(), b.cspan(), 0,
       c.span());
  stream.synchronize();
  std::printf("bits: %016lx\n", test::digest(c.download()));
}

TEST(Cublas, HasTheSameBitsWithAnyNumberOfThreads) {
  const std::string alone = test::bits_with_threads("Cublas.DISABLED_PrintsItsBits", 1);
  EXPECT_EQ(test::bits_with_threads("Cublas.DISABLED_PrintsItsBits", 2), alone);
  EXPECT_EQ(test::bits_with_threads("Cublas.DISABLED_PrintsItsBits", 3), alone);
}

TEST(Gemm, RefusesArraysOfAnotherSize) {
  const CublasHandle handle;
  const Stream stream;
  const Buffer<float> a(6), b(6), c(4);
  EXPECT_THROW(gemm(handle, stream.get(), Transpose::no, Transpose::no, 2, 2, 2, a.cspan(),
                    b.cspan(), 0, c.span()),
               DeviceError);
}

}  // namespace
}  // namespace annulus
