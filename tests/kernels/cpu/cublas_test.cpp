// cuBLAS on the CPU device: argument checks, leading dimensions, beta, number formats, cuts of
// large products, the workspace, bits against the number of threads. Dense products of every
// transpose are in the registry (kernels/registry/gemm.cpp).
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/cpu/cudart/reports.h"
#include "kernels/cpu/format.h"
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
  cudaDataType inputs = CUDA_R_32F, result = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

// As the type keeps them.
std::vector<float> rounded(cudaDataType type, std::vector<float> values) {
  for (float& value : values) {
    if (type == CUDA_R_16BF) value = float(__nv_bfloat16(value));
    if (type == CUDA_R_16F) value = float(__half(value));
  }
  return values;
}

// Relative to a number, half the step between its neighbours: 8, 11 and 24 bits.
double unit_roundoff(cudaDataType type) {
  return type == CUDA_R_16BF ? 0x1p-8 : type == CUDA_R_16F ? 0x1p-11 : 0x1p-24;
}

// Device memory of one of cuBLAS's types, seen as floats.
class DeviceMatrix {
 public:
  DeviceMatrix(cudaDataType type, const std::vector<float>& host) : type_(type) { upload(host); }

  void* data() const { return memory_.span().data; }
  void upload(const std::vector<float>& host) {
    std::vector<std::byte> bytes(host.size() * size_of_element());
    for (std::size_t i = 0; i < host.size(); ++i) {
      std::byte* const place = bytes.data() + i * size_of_element();
      if (type_ == CUDA_R_16BF)
        put(place, __nv_bfloat16(host[i]));
      else if (type_ == CUDA_R_16F)
        put(place, __half(host[i]));
      else
        put(place, host[i]);
    }
    memory_ = Buffer<std::byte>(bytes);
  }
  std::vector<float> download() const {
    const std::vector<std::byte> bytes = memory_.download();
    std::vector<float> host(bytes.size() / size_of_element());
    for (std::size_t i = 0; i < host.size(); ++i) {
      const std::byte* const place = bytes.data() + i * size_of_element();
      host[i] = type_ == CUDA_R_16BF  ? float(get<__nv_bfloat16>(place))
                : type_ == CUDA_R_16F ? float(get<__half>(place))
                                      : get<float>(place);
    }
    return host;
  }

 private:
  template <class T>
  static void put(std::byte* place, T value) {
    std::memcpy(place, &value, sizeof value);
  }
  template <class T>
  static T get(const std::byte* place) {
    T value;
    std::memcpy(&value, place, sizeof value);
    return value;
  }
  std::size_t size_of_element() const { return type_ == CUDA_R_32F ? 4 : 2; }

  cudaDataType type_;
  Buffer<std::byte> memory_;
};

struct Matrix {
  Matrix(int rows, int columns, int slack, std::uint32_t seed, cudaDataType type)
      : leading(rows + slack),
        host(rounded(type, numbers(std::size_t(leading) * std::size_t(columns), seed))),
        device(type, host) {}
  double at(int row, int column, cublasOperation_t transpose) const {
    const bool t = transpose != CUBLAS_OP_N;
    return host[std::size_t(t ? column : row) +
                std::size_t(leading) * std::size_t(t ? row : column)];
  }
  int leading;
  std::vector<float> host;
  DeviceMatrix device;
};

// Runs the product and holds every element of c, and the gaps between its columns, against double.
void expect_product(const CublasHandle& handle, const Product& p) {
  const bool ta = p.ta != CUBLAS_OP_N, tb = p.tb != CUBLAS_OP_N;
  const bool tf32 = p.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const auto read = [&](double value) {
    return tf32 ? double(cpu::round_to_tf32(float(value))) : value;
  };
  const Matrix a(ta ? p.k : p.m, ta ? p.m : p.k, p.slack, 1, p.inputs);
  const Matrix b(tb ? p.n : p.k, tb ? p.k : p.n, p.slack, 2, p.inputs);
  Matrix c(p.m, p.n, p.slack, 3, p.result);
  if (p.beta == 0) {  // beta = 0 must not read c
    std::fill(c.host.begin(), c.host.end(), std::numeric_limits<float>::quiet_NaN());
    c.device.upload(c.host);
  }
  ASSERT_EQ(cublasGemmEx(handle.get(), p.ta, p.tb, p.m, p.n, p.k, &p.alpha, a.device.data(),
                         p.inputs, a.leading, b.device.data(), p.inputs, b.leading, &p.beta,
                         c.device.data(), p.result, c.leading, p.compute, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<float> got = c.device.download();
  // k roundings of a sum of k products, then that of the result's type.
  const double sums = 4 * (p.k + 2) * 0x1p-24, relative = unit_roundoff(p.result);
  double worst = 0;  // as a part of what is allowed
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
        sum += read(a.at(row, inner, p.ta)) * read(b.at(inner, column, p.tb));
      const double want = p.alpha * sum + (p.beta == 0 ? 0.0 : p.beta * double(c.host[i]));
      const double error = std::abs(got[i] - want) / (sums + relative * std::abs(want));
      if (!(error <= worst)) worst = error;
    }
  }
  EXPECT_LE(worst, 1) << p.m << 'x' << p.n << 'x' << p.k << " transposes " << p.ta << p.tb
                      << " beta " << p.beta << " types " << p.inputs << ' ' << p.result;
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

constexpr std::array<std::pair<cudaDataType, cudaDataType>, 4> kHalfTypes = {
    {{CUDA_R_16BF, CUDA_R_16BF},
     {CUDA_R_16BF, CUDA_R_32F},
     {CUDA_R_16F, CUDA_R_16F},
     {CUDA_R_16F, CUDA_R_32F}}};

TEST(Cublas, MultipliesHalvesSumsInFloatAndRoundsOnce) {
  const CublasHandle handle;
  for (const auto& [inputs, result] : kHalfTypes)
    for (const auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
      for (const auto tb : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (const float beta : {0.0f, 1.0f}) {
          expect_product(handle, {ta, tb, 1, 1, 1, 1, beta, 2, inputs, result});
          expect_product(handle, {ta, tb, 13, 3, 31, 0.5f, beta, 1, inputs, result});
          expect_product(handle, {ta, tb, 67, 131, 600, 1, beta, 3, inputs, result});
        }
}

TEST(Cublas, RoundsInputsToTf32WhereThatIsAllowed) {
  const CublasHandle handle;
  for (const auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
    for (const int k : {1, 31, 600})
      expect_product(handle, {ta, CUBLAS_OP_N, 67, 13, k, 1, 0.5f, 1, CUDA_R_32F, CUDA_R_32F,
                              CUBLAS_COMPUTE_32F_FAST_TF32});
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

TEST(Cublas, RefusesTypesThatItDoesNotMultiply) {
  const CublasHandle handle;
  const Buffer<float> memory(16);
  float* data = memory.span().data;
  const float one = 1;
  const auto refused = [&](cudaDataType a, cudaDataType b, cudaDataType c,
                           cublasComputeType_t compute) {
    return cublasGemmEx(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, data, a, 2, data, b,
                        2, &one, data, c, 2, compute,
                        CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED;
  };
  const auto bf16 = CUDA_R_16BF, fp16 = CUDA_R_16F, fp32 = CUDA_R_32F;
  EXPECT_TRUE(refused(bf16, fp16, fp32, CUBLAS_COMPUTE_32F));
  EXPECT_TRUE(refused(fp32, fp32, bf16, CUBLAS_COMPUTE_32F));
  EXPECT_TRUE(refused(bf16, bf16, fp16, CUBLAS_COMPUTE_32F));
  EXPECT_TRUE(refused(bf16, bf16, bf16, CUBLAS_COMPUTE_32F_FAST_TF32));
  EXPECT_TRUE(refused(fp32, fp32, fp32, cublasComputeType_t(64)));  // sums in half
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

// Two streams that share a handle's workspace without an order between them.
TEST(Cublas, ReportsAWorkspaceThatTwoStreamsUseAtOnce) {
  const CublasHandle handle;
  const Stream first, second;
  const Buffer<float> a(16), b(16), c(16), d(16);
  const auto multiply = [&](const Stream& stream, const Buffer<float>& out) {
    gemm(handle, stream.get(), Transpose::no, Transpose::no, 4, 4, 4, a.cspan(), b.cspan(), 0,
         out.span());
  };
  multiply(first, c);
  multiply(first, c);
  EXPECT_EQ(cpu::report_count(), 0u);
  multiply(second, d);
  ASSERT_GE(cpu::report_count(), 1u);
  EXPECT_EQ(cpu::reports().front().kind, "race");
  CUDA_CHECK(cudaDeviceSynchronize());
  cpu::clear_reports();
}

// Setting the stream gives the library its own workspace back, as NVIDIA's documents.
TEST(Cublas, ForgetsTheWorkspaceWithTheStream) {
  const CublasHandle handle;
  const Stream first, second;
  const Buffer<float> a(16), b(16), c(16), d(16);
  const float one = 1, zero = 0;
  const auto multiply = [&](const Stream& stream, const Buffer<float>& out) {
    CUBLAS_CHECK(cublasSetStream(handle.get(), stream.get()));
    CUBLAS_CHECK(cublasSgemm(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a.cspan().data,
                             4, b.cspan().data, 4, &zero, out.span().data, 4));
  };
  handle.use(first.get());
  multiply(first, c);
  multiply(second, d);
  CUDA_CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(cpu::report_count(), 0u);
}

TEST(Cublas, IsCapturedAndReplayed) {
  const CublasHandle handle;
  const Stream stream;
  const Buffer<__half> a(std::vector<__half>(64, __half(0.5f))),
      b(std::vector<__half>(64, __half(3)));
  const Buffer<float> c(std::vector<float>(64, 0));
  const auto multiply = [&] {
    gemm(handle, stream.get(), Transpose::no, Transpose::no, 8, 8, 8, a.cspan(), b.cspan(), 1,
         c.span(), kFp16);
  };
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t replay = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  multiply();
  CUDA_CHECK(cudaStreamEndCapture(stream.get(), &captured));
  CUDA_CHECK(cudaGraphInstantiate(&replay, captured, 0));
  for (int launch = 0; launch < 3; ++launch) CUDA_CHECK(cudaGraphLaunch(replay, stream.get()));
  stream.synchronize();
  EXPECT_EQ(c.download(), std::vector<float>(64, 3 * 8 * 1.5f));
  EXPECT_EQ(cpu::report_count(), 0u);
  CUDA_CHECK(cudaGraphExecDestroy(replay));
  CUDA_CHECK(cudaGraphDestroy(captured));
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
