// The models are what they claim to be, and their first values follow the formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/model/models.h"
#include "kernels/check.h"

namespace annulus {
namespace {

TEST(Models, SeedCnnIsTheReferenceNetwork) {
  const Model model = seed_cnn({});
  EXPECT_EQ(model.parameter_count(), 551722u);
  EXPECT_NEAR(model.forward_flops() / 1e6, 77.8, 0.05);
  EXPECT_EQ(model.classes(), 10);
}

TEST(Models, Resnet8) {
  // 3x3 convolutions 432 + 2*2304 + (4608+9216) + (18432+36864), shortcuts 512 + 2048, BatchNorm 2
  // * (16*3 + 32*3 + 64*3), head 650.
  EXPECT_EQ(resnet8({}).parameter_count(), 432u + 4608 + 13824 + 55296 + 2560 + 672 + 650);
}

// 28x28x1: convolutions 9*32+32 and 288*64+64, BatchNorm 2 * (32+64+128), heads 3136*128+128 and
// 1290.
TEST(Models, MnistCnn) {
  const Model digits = mnist_cnn({.image = {28, 28, 1}});
  EXPECT_EQ(digits.parameter_count(), 320u + 18496 + 448 + 401536 + 1290);
  EXPECT_EQ(mnist_cnn({}).classes(), 10);  // 32x32x3 as well
}

TEST(Models, GradientsLieInTheOrderInWhichBackwardFinishesThem) {
  const Model model = seed_cnn({});
  const auto& parameters = model.parameters();
  EXPECT_LT(parameters.back()->slice.offset, parameters.front()->slice.offset);
  for (const Parameter* p : parameters) EXPECT_EQ(p->slice.offset % kAlignFloats, 0u);
}

TEST(Models, FirstValuesFollowKaimingAndGlorot) {
  const Model model = seed_cnn({});
  const std::vector<float> values = initial_parameters(model, 1);
  for (const Parameter* p : model.parameters()) {
    double mean = 0, square = 0, largest = 0;
    for (std::size_t i = 0; i < p->count(); ++i) {
      const double v = values[p->slice.offset + i];
      mean += v / double(p->count());
      square += v * v / double(p->count());
      largest = std::max(largest, std::abs(v));
    }
    const double noise = 5.0 / std::sqrt(double(p->count()));  // five standard errors
    if (p->init == Init::kaiming_normal) {
      EXPECT_NEAR(square * p->fan_in / 2.0, 1.0, 1.5 * noise) << p->name;
      EXPECT_NEAR(mean, 0.0, noise * std::sqrt(2.0 / p->fan_in)) << p->name;
    }
    if (p->init == Init::glorot_uniform) {
      const double bound = std::sqrt(6.0 / (p->fan_in + p->fan_out));
      EXPECT_LE(largest, bound) << p->name;
      EXPECT_NEAR(square / (bound * bound / 3.0), 1.0, noise) << p->name;
    }
  }
  EXPECT_NE(values, initial_parameters(model, 2));
  EXPECT_EQ(values, initial_parameters(model, 1));
}

TEST(Models, UnknownNameListsTheModels) {
  try {
    find_model("resnet-9");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("resnet-8"), std::string::npos);
  }
}

}  // namespace
}  // namespace annulus
