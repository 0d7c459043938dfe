// cuDNN's BatchNorm against the definition in double precision and against our kernels: forward,
// statistics, and the gradients of input, scale and shift.
#include "kernels/batchnorm_cudnn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/cuda.h"
#include "tests/kernels/cpu/numbers.h"

namespace annulus {
namespace {

using test::numbers;
using Doubles = std::vector<double>;
using Floats = std::vector<float>;

constexpr float kWeight = 0.25f;
// Inputs of size up to 3 and deviation about 0.6; a normalised value takes five roundings of terms
// up to 4.
constexpr double kTolerance = 5 * 4 * 0x1p-24;

struct Inputs {
  Floats x, dy, gamma, beta;
};

// Each channel has a mean of its own.
Inputs inputs_of(const BatchNormShape& s) {
  Inputs in{numbers(s.in_size(), 1), numbers(s.in_size(), 2), numbers(std::size_t(s.channels), 3),
            numbers(std::size_t(s.channels), 4)};
  for (std::size_t i = 0; i < in.x.size(); ++i)
    in.x[i] += 2 * std::sin(float(i % std::size_t(s.channels)));
  return in;
}

struct Results {
  Floats y, mean, inv_std, statistics, dx, dgamma, dbeta;
};

// forward(arrays...) and backward(arrays...) of one implementation, on the device.
template <class Forward, class Backward>
Results run(const BatchNormShape& s, const Inputs& in, std::size_t workspace_bytes,
            Forward&& forward, Backward&& backward) {
  const auto channels = std::size_t(s.channels);
  const Stream stream;
  const Buffer<float> x(in.x), dy(in.dy), gamma(in.gamma), beta(in.beta);
  const Buffer<float> y(s.in_size()), mean(channels), inv_std(channels), statistics(2 * channels);
  const Buffer<float> dx(s.in_size()), dgamma(channels), dbeta(channels);
  const Buffer<std::byte> workspace(workspace_bytes);
  forward(stream.get(), x.cspan(), gamma.cspan(), beta.cspan(), mean.span(), inv_std.span(),
          statistics.span(), y.span(), workspace.span());
  backward(stream.get(), x.cspan(), dy.cspan(), mean.cspan(), inv_std.cspan(), gamma.cspan(),
           beta.cspan(), dx.span(), dgamma.span(), dbeta.span(), workspace.span());
  stream.synchronize();
  return {y.download(),  mean.download(),   inv_std.download(), statistics.download(),
          dx.download(), dgamma.download(), dbeta.download()};
}

Results cudnns(const BatchNormShape& s, const Inputs& in) {
  const CudnnHandle handle;
  const CudnnBatchNormPlan plan(handle, s);
  return run(
      s, in, plan.workspace_bytes(),
      [&](cudaStream_t stream, auto x, auto gamma, auto beta, auto mean, auto inv_std,
          auto statistics, auto y, auto workspace) {
        plan.forward(handle, stream, x, gamma, beta, mean, inv_std, statistics, kWeight, y,
                     workspace);
      },
      [&](cudaStream_t stream, auto x, auto dy, auto mean, auto inv_std, auto gamma, auto, auto dx,
          auto dgamma, auto dbeta, auto workspace) {
        plan.backward(handle, stream, x, dy, mean, inv_std, gamma, dx, dgamma, dbeta, workspace);
      });
}

Span<float> floats(Span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data), bytes.size / sizeof(float)};
}

Results ours(const BatchNormShape& s, const Inputs& in) {
  return run(
      s, in, sizeof(float) * batchnorm_workspace(s),
      [&](cudaStream_t stream, auto x, auto gamma, auto beta, auto mean, auto inv_std,
          auto statistics, auto y, auto workspace) {
        batchnorm_forward(stream, s, x, gamma, beta, mean, inv_std, statistics, kWeight, y,
                          floats(workspace));
      },
      [&](cudaStream_t stream, auto x, auto dy, auto mean, auto inv_std, auto gamma, auto beta,
          auto dx, auto dgamma, auto dbeta, auto workspace) {
        batchnorm_backward(stream, s, x, dy, mean, inv_std, gamma, beta, dx, dgamma, dbeta,
                           floats(workspace));
      });
}

struct Reference {
  Doubles y, mean, inv_std, statistics, dx, dgamma, dbeta;
};

// Ioffe & Szegedy 2015, algorithm 1 and section 3.
Reference reference(const BatchNormShape& s, const Inputs& in) {
  const auto channels = std::size_t(s.channels);
  const auto rows = double(s.rows());
  const auto of_channels = [&] { return Doubles(channels); };
  Reference r{Doubles(in.x.size()), of_channels(), of_channels(), Doubles(2 * channels),
              Doubles(in.x.size()), of_channels(), of_channels()};
  Doubles variance(channels);
  for (std::size_t i = 0; i < in.x.size(); ++i) r.mean[i % channels] += double(in.x[i]) / rows;
  for (std::size_t i = 0; i < in.x.size(); ++i)
    variance[i % channels] += std::pow(double(in.x[i]) - r.mean[i % channels], 2) / rows;
  for (std::size_t c = 0; c < channels; ++c) {
    r.inv_std[c] = 1 / std::sqrt(variance[c] + double(s.epsilon));
    r.statistics[c] = double(kWeight) * r.mean[c];
    r.statistics[channels + c] = double(kWeight) * variance[c] * rows / std::max(rows - 1, 1.0);
  }
  const auto normalized = [&](std::size_t i) {
    return (double(in.x[i]) - r.mean[i % channels]) * r.inv_std[i % channels];
  };
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const std::size_t c = i % channels;
    r.y[i] = double(in.gamma[c]) * normalized(i) + double(in.beta[c]);
    r.dbeta[c] += double(in.dy[i]);
    r.dgamma[c] += double(in.dy[i]) * normalized(i);
  }
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const std::size_t c = i % channels;
    r.dx[i] = double(in.gamma[c]) * r.inv_std[c] *
              (double(in.dy[i]) - r.dbeta[c] / rows - normalized(i) * r.dgamma[c] / rows);
  }
  return r;
}

template <class Wanted>
void expect_near(const Floats& got, const Wanted& want, double absolute, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(double(got[i]), double(want[i]), absolute + 1e-6 * std::abs(double(want[i])))
        << what << " " << i;
}

// `sum` is the tolerance of a sum over the rows.
template <class Wanted>
void expect_results(const Results& got, const Wanted& want, double sum) {
  expect_near(got.mean, want.mean, kTolerance, "mean");
  expect_near(got.inv_std, want.inv_std, kTolerance, "inv_std");
  expect_near(got.statistics, want.statistics, kTolerance, "statistics");
  expect_near(got.y, want.y, kTolerance, "y");
  expect_near(got.dgamma, want.dgamma, sum, "dgamma");
  expect_near(got.dbeta, want.dbeta, sum, "dbeta");
  expect_near(got.dx, want.dx, 3 * kTolerance, "dx");
}

class CudnnBatchNorm : public testing::TestWithParam<BatchNormShape> {};

// One piece of rows and several; one channel, some that four does not divide, many.
INSTANTIATE_TEST_SUITE_P(Shapes, CudnnBatchNorm,
                         testing::Values(BatchNormShape{2, 3, 5, 7}, BatchNormShape{17, 1, 1, 128},
                                         BatchNormShape{5, 13, 11, 32},
                                         BatchNormShape{3, 40, 40, 20}, BatchNormShape{4, 4, 4, 1}),
                         [](const auto& info) {
                           return std::to_string(info.param.rows()) + "x" +
                                  std::to_string(info.param.channels);
                         });

TEST_P(CudnnBatchNorm, IsTheDefinitionAndOurs) {
  const BatchNormShape& shape = GetParam();
  const Inputs in = inputs_of(shape);
  const Results results = cudnns(shape, in);
  const double sum = 4 * double(shape.rows()) * 0x1p-24;
  expect_results(results, reference(shape, in), sum);
  expect_results(results, ours(shape, in), 2 * sum);
}

// The check can fail: an epsilon ten times too large shows.
TEST(CudnnBatchNormCheck, AWrongEpsilonIsCaught) {
  BatchNormShape shape{5, 13, 11, 32};
  const Inputs in = inputs_of(shape);
  const Reference want = reference(shape, in);
  shape.epsilon *= 10;
  const Results got = cudnns(shape, in);
  double worst = 0;
  for (std::size_t i = 0; i < got.y.size(); ++i)
    worst = std::max(worst, std::abs(double(got.y[i]) - want.y[i]));
  EXPECT_GT(worst, 2 * kTolerance);
}

TEST(CudnnBatchNormPlan, RefusesASmallWorkspaceBeforeItIsQueued) {
  const BatchNormShape shape{2, 3, 5, 8};
  const CudnnHandle handle;
  const CudnnBatchNormPlan plan(handle, shape);
  const Buffer<float> x(inputs_of(shape).x), channels(8), statistics(16), y(shape.in_size());
  const Buffer<std::byte> workspace(plan.workspace_bytes());
  EXPECT_THROW(plan.forward(handle, nullptr, x.cspan(), channels.cspan(), channels.cspan(),
                            channels.span(), channels.span(), statistics.span(), 1, y.span(),
                            workspace.span().subspan(0, workspace.size() - 1)),
               DeviceError);
}

}  // namespace
}  // namespace annulus
