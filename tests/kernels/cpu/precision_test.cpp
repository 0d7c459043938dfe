// Precisions of convolutions and matrix products, bit for bit: what a half or TF32 path computes is
// what the fp32 path computes of the rounded inputs, rounded once. That fp32 is right is shown
// against double elsewhere (kernels/registry, cublas_test). How a GPU sums and rounds is its own
// affair: these bits are the CPU device's.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "kernels/conv.h"
#include "kernels/cpu/cudart/reports.h"
#include "kernels/cpu/format.h"
#include "kernels/cuda.h"
#include "kernels/gemm.h"
#include "tests/kernels/cpu/bits.h"
#include "tests/kernels/cpu/numbers.h"

namespace annulus {
namespace {

using test::numbers;

constexpr ConvShape kShape{.images = 9,
                           .height = 11,
                           .width = 8,
                           .in_channels = 5,
                           .out_channels = 24,
                           .kernel_h = 3,
                           .kernel_w = 3,
                           .pad_h = 1,
                           .pad_w = 1};
constexpr ConvKind kKinds[] = {ConvKind::forward, ConvKind::forward_bias,
                               ConvKind::forward_bias_relu, ConvKind::data_gradient,
                               ConvKind::weight_gradient};
constexpr int kM = 37, kN = 70, kK = 129;  // of products

template <class T, class From>
std::vector<T> as(const std::vector<From>& values) {
  std::vector<T> result;
  for (const From& value : values) result.push_back(T(float(value)));
  return result;
}

// Rounded to T, as floats.
template <class T>
std::vector<float> rounded(const std::vector<float>& values) {
  return as<float>(as<T>(values));
}
std::vector<float> rounded_to_tf32(std::vector<float> values) {
  for (float& value : values) value = cpu::round_to_tf32(value);
  return values;
}

struct Inputs {
  std::vector<float> a, b, bias;
};

Inputs inputs_of(const ConvShape& s, ConvKind kind) {
  const bool data = kind == ConvKind::data_gradient, weight = kind == ConvKind::weight_gradient;
  return {numbers(data ? s.y_size() : s.x_size(), 1), numbers(weight ? s.y_size() : s.w_size(), 2),
          numbers(std::size_t(s.out_channels), 3)};
}

// In T, the output in Out; everything as floats.
template <class T, class Out>
std::vector<float> run(const ConvShape& s, ConvKind kind, const Precision& precision,
                       const Inputs& in) {
  const CudnnHandle handle;
  const Stream stream;
  const ConvPlan plan(handle, s, kind, precision);
  const Buffer<T> a(as<T>(in.a)), b(as<T>(in.b));
  const Buffer<float> bias(in.bias);
  const Buffer<Out> out(kind == ConvKind::weight_gradient ? s.w_size()
                        : kind == ConvKind::data_gradient ? s.x_size()
                                                          : s.y_size());
  const Buffer<std::byte> workspace(plan.workspace_bytes());
  plan.run(handle, stream.get(), a.cspan(), b.cspan(), bias.cspan(), out.span(), workspace.span());
  stream.synchronize();
  return as<float>(out.download());
}

template <class T>
std::vector<float> convolve(const ConvShape& s, ConvKind kind, const Precision& precision,
                            const Inputs& in) {
  return kind == ConvKind::weight_gradient ? run<T, float>(s, kind, precision, in)
                                           : run<T, T>(s, kind, precision, in);
}

template <class T, class Out>
std::vector<float> multiply(const std::vector<float>& a, const std::vector<float>& b, float beta,
                            const std::vector<float>& c, const Precision& precision) {
  const CublasHandle handle;
  const Stream stream;
  const Buffer<T> device_a(as<T>(a)), device_b(as<T>(b));
  const Buffer<Out> device_c(as<Out>(c));
  gemm(handle, stream.get(), Transpose::no, Transpose::no, kM, kN, kK, device_a.cspan(),
       device_b.cspan(), beta, device_c.span(), precision);
  stream.synchronize();
  return as<float>(device_c.download());
}

template <class T>
class Half : public testing::Test {};
using HalfTypes = testing::Types<__nv_bfloat16, __half>;
TYPED_TEST_SUITE(Half, HalfTypes);

TYPED_TEST(Half, ConvolutionIsThatOfFloatRoundedOnce) {
  for (const ConvKind kind : kKinds) {
    Inputs in = inputs_of(kShape, kind);
    const std::vector<float> got = convolve<TypeParam>(kShape, kind, kPrecisionOf<TypeParam>, in);
    in = {rounded<TypeParam>(in.a), rounded<TypeParam>(in.b), rounded<TypeParam>(in.bias)};
    const std::vector<float> sums = convolve<float>(kShape, kind, kFp32, in);
    EXPECT_EQ(got, rounded<TypeParam>(sums)) << int(kind);
    EXPECT_NE(got, sums) << int(kind);
  }
}

TYPED_TEST(Half, ProductIsThatOfFloatRoundedOnceOrLeftInFloat) {
  const auto a = numbers(kM * kK, 1), b = numbers(kK * kN, 2);
  const auto c = rounded<TypeParam>(numbers(kM * kN, 3));
  for (const float beta : {0.0f, 1.0f}) {
    const auto sums =
        multiply<float, float>(rounded<TypeParam>(a), rounded<TypeParam>(b), beta, c, kFp32);
    const Precision precision = kPrecisionOf<TypeParam>;
    EXPECT_EQ((multiply<TypeParam, TypeParam>(a, b, beta, c, precision)), rounded<TypeParam>(sums));
    EXPECT_EQ((multiply<TypeParam, float>(a, b, beta, c, precision)), sums);
  }
}

TEST(Tf32, ConvolutionIsThatOfFloatWithRoundedInputs) {
  for (const ConvKind kind : kKinds) {
    const Inputs in = inputs_of(kShape, kind);
    const std::vector<float> got = convolve<float>(kShape, kind, kTf32, in);
    EXPECT_EQ(got, convolve<float>(kShape, kind, kFp32,
                                   {rounded_to_tf32(in.a), rounded_to_tf32(in.b), in.bias}));
    EXPECT_NE(got, convolve<float>(kShape, kind, kFp32, in));
  }
}

// Each of two inputs is off by 2^-11 of itself at most, and so a product by 2^-10 of numbers
// below 1.
TEST(Tf32, ProductIsThatOfFloatWithRoundedInputsAndNear) {
  const auto a = numbers(kM * kK, 1), b = numbers(kK * kN, 2), c = numbers(kM * kN, 3);
  const auto tf32 = multiply<float, float>(a, b, 1, c, kTf32);
  const auto fp32 = multiply<float, float>(a, b, 1, c, kFp32);
  EXPECT_EQ(tf32, (multiply<float, float>(rounded_to_tf32(a), rounded_to_tf32(b), 1, c, kFp32)));
  double worst = 0;
  for (std::size_t i = 0; i < tf32.size(); ++i)
    worst = std::max(worst, std::abs(double(tf32[i]) - double(fp32[i])));
  EXPECT_LT(worst, kK * 0x1p-10);
  EXPECT_GT(worst, 0x1p-11);
}

TEST(Tf32, RoundsToTenBitsTiesAwayFromZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kStep = 0x1p-10f;  // between neighbours above 1
  EXPECT_EQ(cpu::round_to_tf32(1 + kStep), 1 + kStep);
  EXPECT_EQ(cpu::round_to_tf32(1 + kStep / 2), 1 + kStep);
  EXPECT_EQ(cpu::round_to_tf32(-1 - kStep / 2), -1 - kStep);
  EXPECT_EQ(cpu::round_to_tf32(1 + 1.5f * kStep), 1 + 2 * kStep);
  EXPECT_EQ(cpu::round_to_tf32(1 + kStep / 2 - 0x1p-23f), 1);
  EXPECT_EQ(cpu::round_to_tf32(0x1.fffffep-3f), 0x1p-2f);
  EXPECT_EQ(cpu::round_to_tf32(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(cpu::round_to_tf32(-kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(cpu::round_to_tf32(std::bit_cast<float>(0x7FFFFFFFu))));
  EXPECT_TRUE(std::isnan(cpu::round_to_tf32(std::bit_cast<float>(0x7F800001u))));
}

// One product of 90000: more than 65504, the largest fp16.
TEST(Precisions, OverflowInFp16IsInfinity) {
  const ConvShape one{.images = 1,
                      .height = 1,
                      .width = 1,
                      .in_channels = 1,
                      .out_channels = 1,
                      .kernel_h = 1,
                      .kernel_w = 1};
  const Inputs in{{300}, {300}, {0}};
  for (const ConvKind kind : kKinds) {
    EXPECT_EQ(convolve<__half>(one, kind, kFp16, in).front(),
              std::numeric_limits<float>::infinity());
    EXPECT_EQ(convolve<__nv_bfloat16>(one, kind, kBf16, in).front(), 90112);
  }
  const std::vector<float> a(kM * kK, 300), b(kK * kN, 300), c(kM * kN, 0);
  EXPECT_EQ((multiply<__half, __half>(a, b, 0, c, kFp16).front()),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ((multiply<__half, float>(a, b, 0, c, kFp16).front()), kK * 90000.0f);
}

TEST(Precisions, ArraysOfAnotherElementAreRefused) {
  const CudnnHandle cudnn;
  const CublasHandle cublas;
  const Stream stream;
  const Buffer<float> fp32(kShape.x_size() + kShape.y_size());
  const Buffer<__half> fp16(fp32.size());
  const ConvPlan plan(cudnn, kShape, ConvKind::weight_gradient, kFp16);
  const Buffer<std::byte> workspace(plan.workspace_bytes());
  const auto convolve_into = [&](AnyInput a, AnyOutput out) {
    plan.run(cudnn, stream.get(), a, fp16.cspan(), {}, out, workspace.span());
  };
  EXPECT_THROW(convolve_into(fp32.cspan(), fp32.span()), DeviceError);
  EXPECT_THROW(convolve_into(fp16.cspan(), fp16.span()), DeviceError);
  const auto multiply_with = [&](const Precision& precision, AnyInput a, AnyOutput c) {
    gemm(cublas, stream.get(), Transpose::no, Transpose::no, 1, 1, 1, a, fp16.cspan().subspan(0, 1),
         0, c, precision);
  };
  const AnyInput a16 = fp16.cspan().subspan(0, 1), a32 = fp32.cspan().subspan(0, 1);
  EXPECT_THROW(multiply_with(kFp32, a32, fp32.span().subspan(0, 1)), DeviceError);
  EXPECT_THROW(multiply_with(kBf16, a16, fp32.span().subspan(0, 1)), DeviceError);
  EXPECT_THROW(multiply_with(kFp16, a32, fp32.span().subspan(0, 1)), DeviceError);
}

// Of all precisions. 16384 numbers are a piece of the pool: these are more.
TEST(Precisions, DISABLED_PrintsItsBits) {
  ConvShape shape = kShape;
  shape.images = 47;
  for (const ConvKind kind : kKinds) {
    const Inputs in = inputs_of(shape, kind);
    std::printf("bits: %016lx %016lx %016lx\n",
                test::digest(convolve<__nv_bfloat16>(shape, kind, kBf16, in)),
                test::digest(convolve<__half>(shape, kind, kFp16, in)),
                test::digest(convolve<float>(shape, kind, kTf32, in)));
  }
  const auto a = numbers(kM * kK, 1), b = numbers(kK * kN, 2), c = numbers(kM * kN, 3);
  std::printf("bits: %016lx %016lx\n",
              test::digest(multiply<__nv_bfloat16, float>(a, b, 1, c, kBf16)),
              test::digest(multiply<float, float>(a, b, 1, c, kTf32)));
}

TEST(Precisions, HaveTheSameBitsWithAnyNumberOfThreads) {
  const std::string name = "Precisions.DISABLED_PrintsItsBits";
  const std::string alone = test::bits_with_threads(name, 1);
  EXPECT_EQ(std::count(alone.begin(), alone.end(), '\n'), 6);
  EXPECT_EQ(test::bits_with_threads(name, 2), alone);
  EXPECT_EQ(test::bits_with_threads(name, 3), alone);
}

}  // namespace
}  // namespace annulus
