// Every layer by central finite differences. Each layer under test stands behind a convolution (or
// a dense layer), whose parameters' gradients pass through the layer's data gradient; its own
// parameters are varied too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/model/builder.h"
#include "engine/model/models.h"
#include "tests/engine/tiny_run.h"

namespace annulus {
namespace {

// fp32 sums of a few hundred terms carry ~1e-5 of noise, divided by 2 * kStep; the truncation error
// is O(kStep^2).
constexpr float kStep = 1e-2f;
constexpr double kRelative = 2e-2;  // of the tensor's largest gradient
constexpr double kAbsolute = 3e-3;
constexpr std::size_t kElements = 20;  // varied per tensor

struct Mismatch {
  std::string parameter;
  std::size_t element = 0;
  double analytic = 0, numeric = 0;
};

// The elements whose gradient (times `scale`, 1 unless a fault is planted) disagrees with the
// difference quotient.
std::vector<Mismatch> check_gradients(TinyRun& run, double scale = 1) {
  const std::vector<float> gradients = run.gradients();
  const double middle = run.loss();
  std::vector<Mismatch> mismatches;
  for (const Parameter* p : run.model().parameters()) {
    const float* g = gradients.data() + p->slice.offset;
    double largest = 0;
    for (std::size_t i = 0; i < p->count(); ++i)
      largest = std::max(largest, std::abs(double(g[i])));
    const std::size_t stride = std::max<std::size_t>(1, p->count() / kElements);
    for (std::size_t i = 0; i < p->count(); i += stride) {
      float& value = run.parameters()[p->slice.offset + i];
      const float kept = value;
      value = kept + kStep;
      const double above = run.loss();
      value = kept - kStep;
      const double below = run.loss();
      value = kept;
      const double numeric = (above - below) / (2.0 * kStep);
      const double analytic = scale * g[i];
      // A ReLU or a maximum that changes its mind within the step bends the loss: the central
      // difference is then wrong by up to half of what the two one-sided ones differ by.
      const double bend = 0.5 * std::abs(above - 2 * middle + below) / kStep;
      if (std::abs(numeric - analytic) > kRelative * largest + kAbsolute + bend)
        mismatches.push_back({p->name, i, analytic, numeric});
    }
  }
  return mismatches;
}

void expect_gradients_match(Model model, int images) {
  TinyRun run(std::move(model), images);
  for (const Mismatch& m : check_gradients(run))
    ADD_FAILURE() << m.parameter << "[" << m.element << "]: backward says " << m.analytic
                  << ", differences say " << m.numeric;
}

ModelBuilder behind_conv(ImageShape image, int filters, bool fuse = true) {
  ModelBuilder m(image, fuse);
  m.conv({.filters = filters, .kernel = 1});
  return m;
}

TEST(LayerGradient, Conv) {
  expect_gradients_match(
      behind_conv({6, 5, 3}, 4).conv({.filters = 5, .kernel = 3, .padding = 1}).build("conv"), 3);
}

TEST(LayerGradient, ConvStridedOddKernelNoBias) {
  expect_gradients_match(
      behind_conv({9, 7, 2}, 3)
          .conv({.filters = 4, .kernel = 5, .stride = 2, .padding = 2, .bias = false})
          .build("conv"),
      2);
}

TEST(LayerGradient, Dense) {
  expect_gradients_match(behind_conv({3, 3, 2}, 3).dense(7).build("dense"), 5);
}

TEST(LayerGradient, BatchNormAlone) {
  expect_gradients_match(behind_conv({4, 4, 2}, 5).batch_norm().build("bn"), 4);
}

TEST(LayerGradient, BatchNormFusedWithReluAndPool) {
  expect_gradients_match(behind_conv({6, 6, 2}, 8).batch_norm().relu().max_pool().build("bn"), 4);
}

TEST(LayerGradient, BatchNormFusedWithGeluAndPoolOddSize) {
  expect_gradients_match(behind_conv({5, 7, 2}, 3).batch_norm().gelu().max_pool().build("bn"), 4);
}

TEST(LayerGradient, BatchNormFirst) {
  ModelBuilder m({4, 4, 3});
  m.batch_norm().relu().dense(5);
  expect_gradients_match(m.build("bn"), 6);
}

TEST(LayerGradient, ActivationsUnfused) {
  expect_gradients_match(behind_conv({4, 4, 2}, 6).relu().build("relu"), 3);
  expect_gradients_match(behind_conv({4, 4, 2}, 6).gelu().build("gelu"), 3);
}

TEST(LayerGradient, MaxPoolOverlapping) {
  expect_gradients_match(behind_conv({7, 7, 2}, 4).max_pool(3, 2, 1).build("pool"), 3);
}

TEST(LayerGradient, GlobalAveragePool) {
  expect_gradients_match(behind_conv({5, 4, 2}, 6).global_average_pool().dense(4).build("avg"), 3);
}

TEST(LayerGradient, Dropout) {
  expect_gradients_match(behind_conv({4, 4, 2}, 6).dropout(0.4f).dense(4).build("drop"), 5);
}

TEST(LayerGradient, ResidualAddWithIdentityAndWithConv) {
  ModelBuilder m({6, 6, 3});
  m.conv({.filters = 4, .kernel = 3, .padding = 1}).relu();
  const int input = m.here();
  m.conv({.filters = 4, .kernel = 3, .padding = 1}).batch_norm().add(input).gelu();
  const int second = m.here();
  m.conv({.filters = 5, .kernel = 3, .stride = 2, .padding = 1});
  const int main_path = m.here();
  m.from(second).conv({.filters = 5, .kernel = 1, .stride = 2});
  const int shortcut = m.here();
  m.from(main_path).add(shortcut).gelu().dense(4);
  expect_gradients_match(m.build("residual"), 3);
}

// A tensor that two adds and a layer read: its gradient is the sum of three.
TEST(LayerGradient, TensorReadThreeTimes) {
  ModelBuilder m({4, 4, 3});
  m.conv({.filters = 4, .kernel = 1});
  const int input = m.here();
  m.gelu().add(input).gelu().add(input).dense(3);
  expect_gradients_match(m.build("fan-out"), 3);
}

TEST(LayerGradient, FusedAndUnfusedAgree) {
  TinyRun fused(seed_cnn({.image = {8, 8, 3}, .classes = 4, .fuse = true}), 4);
  TinyRun plain(seed_cnn({.image = {8, 8, 3}, .classes = 4, .fuse = false}), 4);
  const auto a = fused.gradients(), b = plain.gradients();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 1e-4 + 1e-4 * std::abs(b[i])) << "gradient " << i;
}

// The check can fail: gradients that are 5 % too large are seen.
TEST(LayerGradient, WrongGradientIsCaught) {
  TinyRun run(behind_conv({4, 4, 2}, 3).gelu().dense(4).build("planted"), 3);
  EXPECT_TRUE(check_gradients(run, 1.0).empty());
  EXPECT_FALSE(check_gradients(run, 1.05).empty());
}

}  // namespace
}  // namespace annulus
