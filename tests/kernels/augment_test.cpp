// What the registry cannot show of load_batch: which choices an image meets over steps, epochs and
// ranks, and how often.
#include "kernels/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "kernels/check.h"
#include "kernels/cuda.h"
#include "kernels/simt_host.h"

namespace annulus {
namespace {

constexpr Augmentation kPlain{
    .flip = false, .translate = 0, .cutout = 0, .mean = {}, .inv_std = {1, 1, 1, 1}};

Augmentation flipping() {
  Augmentation a = kPlain;
  a.flip = true;
  return a;
}
Augmentation translating(int pixels) {
  Augmentation a = kPlain;
  a.translate = pixels;
  return a;
}
Augmentation cutting(int side) {
  Augmentation a = kPlain;
  a.cutout = side;
  return a;
}

struct Images {
  ImageShape shape;
  std::vector<std::uint8_t> pixels;  // [D,H,W,C]
};

// Every sample of the batch is the same image, whose pixel at (row, column) is 10 * row + column.
Images coordinates(int height, int width) {
  Images images{{height, width, 1}, {}};
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column)
      images.pixels.push_back(static_cast<std::uint8_t>(10 * row + column));
  return images;
}

struct Batch {
  std::uint32_t first_position = 0, count = 1;
  std::uint32_t step = 0, epoch = 0;
};

// One vector per sample.
std::vector<std::vector<float>> load(const Images& images, const Augmentation& augmentation,
                                     const Batch& batch, const std::vector<std::uint32_t>& order) {
  const Stream stream;
  const std::size_t size = images.shape.size();
  const Buffer<StepState> state(std::vector<StepState>{{.seed = 11,
                                                        .step = batch.step,
                                                        .epoch = batch.epoch,
                                                        .first_sample = 0,
                                                        .learning_rate = 0}});
  const Buffer<std::uint8_t> data(images.pixels);
  const Buffer<std::uint8_t> labels(std::vector<std::uint8_t>(images.pixels.size() / size));
  const Buffer<std::uint32_t> device_order(order);
  const Buffer<float> y(batch.count * size);
  const Buffer<std::int32_t> batch_labels(batch.count);
  load_batch(stream.get(), state.cspan(), batch.first_position, images.shape, augmentation,
             data.cspan(), labels.cspan(), device_order.cspan(), y.span(), batch_labels.span());
  stream.synchronize();
  const std::vector<float> flat = y.download();
  std::vector<std::vector<float>> samples;
  for (std::size_t i = 0; i < batch.count; ++i)
    samples.emplace_back(flat.begin() + i * size, flat.begin() + (i + 1) * size);
  return samples;
}

std::vector<std::vector<float>> load_first_image(const Images& images, const Augmentation& a,
                                                 const Batch& batch) {
  return load(images, a, batch, std::vector<std::uint32_t>(batch.first_position + batch.count));
}

TEST(Augment, EveryOtherEpochIsMirrored) {
  constexpr std::uint32_t kImages = 400;
  Images images{{1, 2, 1}, {}};
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < kImages; ++i) {
    images.pixels.insert(images.pixels.end(), {1, 2});
    order.push_back(i);
  }
  const std::vector<float> as_is{1, 2}, mirror{2, 1};
  const auto epoch = [&](std::uint32_t e) {
    return load(images, flipping(), {.count = kImages, .step = 7 * e, .epoch = e}, order);
  };
  const auto first = epoch(0), second = epoch(1), third = epoch(2);
  int mirrored = 0;
  for (std::uint32_t i = 0; i < kImages; ++i) {
    EXPECT_TRUE(first[i] == as_is || first[i] == mirror);
    EXPECT_EQ(second[i], first[i] == as_is ? mirror : as_is) << "image " << i;
    EXPECT_EQ(third[i], first[i]) << "image " << i;
    mirrored += first[i] == mirror;
  }
  EXPECT_NEAR(mirrored, 0.5 * kImages, 50) << "five standard deviations";
}

TEST(Augment, MirroringBelongsToTheImageNotToItsPlace) {
  Images images{{1, 2, 1}, {}};
  for (int i = 0; i < 50; ++i) images.pixels.insert(images.pixels.end(), {1, 2});
  std::vector<std::uint32_t> forwards, backwards;
  for (std::uint32_t i = 0; i < 50; ++i) {
    forwards.push_back(i);
    backwards.push_back(49 - i);
  }
  auto one = load(images, flipping(), {.count = 50, .step = 1}, forwards);
  const auto other = load(images, flipping(), {.count = 50, .step = 2}, backwards);
  std::reverse(one.begin(), one.end());
  EXPECT_EQ(one, other);
}

// For each shift of -2 … 2, which source pixels a side of four shows, written by hand: the edge
// pixel is not repeated.
constexpr std::array<std::array<int, 4>, 5> kReflected{
    {{2, 1, 0, 1}, {1, 0, 1, 2}, {0, 1, 2, 3}, {1, 2, 3, 2}, {2, 3, 2, 1}}};

TEST(Augment, TranslationFillsByReflection) {
  std::map<std::vector<float>, int> expected;
  for (const auto& rows : kReflected)
    for (const auto& columns : kReflected) {
      std::vector<float> image;
      for (int row : rows)
        for (int column : columns) image.push_back(static_cast<float>(10 * row + column));
      expected[image] = 0;
    }
  for (const auto& sample : load_first_image(coordinates(4, 4), translating(2), {.count = 1000})) {
    ASSERT_EQ(expected.count(sample), 1u) << "not a translation by at most two pixels";
    ++expected[sample];
  }
  for (const auto& [image, count] : expected) EXPECT_GT(count, 0);
}

// Chi-square with 24 degrees of freedom: 59.7 is passed once in ten thousand.
TEST(Augment, TranslationsAreEquallyLikely) {
  constexpr std::uint32_t kSamples = 5000;
  std::map<std::vector<float>, double> counts;
  for (const auto& sample :
       load_first_image(coordinates(5, 5), translating(2), {.count = kSamples}))
    ++counts[sample];
  ASSERT_EQ(counts.size(), 25u);
  double chi_square = 0;
  for (const auto& [image, count] : counts)
    chi_square += (count - kSamples / 25.0) * (count - kSamples / 25.0) / (kSamples / 25.0);
  EXPECT_LT(chi_square, 59.7);
}

TEST(Augment, ChoicesFollowTheStepAndThePositionNotTheSplit) {
  Augmentation all = translating(3);
  all.flip = true;
  all.cutout = 3;
  const Images images = coordinates(8, 9);
  const auto whole = load_first_image(images, all, {.count = 30, .step = 4});
  for (std::uint32_t ranks : {2u, 3u, 7u}) {
    std::vector<std::vector<float>> joined;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t first = 30 * rank / ranks, end = 30 * (rank + 1) / ranks;
      const auto part =
          load_first_image(images, all, {.first_position = first, .count = end - first, .step = 4});
      joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined, whole) << ranks << " ranks";
  }
}

TEST(Augment, TheEmulatedKernelGivesTheSameBits) {
  const Augmentation a{.flip = true,
                       .translate = 2,
                       .cutout = 4,
                       .mean = {33.3f, 0, 0, 0},
                       .inv_std = {1 / 7.f, 1, 1, 1}};
  const Images images = coordinates(20, 5);
  simt::use_cpu_forms(false);
  const auto emulated = load_first_image(images, a, {.count = 40});
  simt::use_cpu_forms(true);
  EXPECT_EQ(emulated, load_first_image(images, a, {.count = 40}));
}

TEST(Augment, EveryStepDrawsAnew) {
  for (const Augmentation& a : {translating(3), cutting(3)}) {
    const auto at_step = [&](std::uint32_t step) {
      return load_first_image(coordinates(8, 9), a, {.count = 30, .step = step});
    };
    EXPECT_EQ(at_step(4), at_step(4));
    EXPECT_NE(at_step(4), at_step(5));
  }
}

// A square of side 4 about every centre of a 6x5 image, clipped: the sides along an axis of
// length n are 2, 3, 4, …, 4, 3 (the centre is the first pixel of the square's second half).
TEST(Augment, CutoutIsASquareClippedAtTheBorder) {
  Images images{{6, 5, 2}, std::vector<std::uint8_t>(6 * 5 * 2, 9)};
  const std::array<int, 6> heights{2, 3, 4, 4, 4, 3};
  const std::array<int, 5> widths{2, 3, 4, 4, 3};
  std::map<int, double> expected;  // fraction of the centres by area
  for (int height : heights)
    for (int width : widths) expected[height * width] += 1.0 / 30;

  constexpr std::uint32_t kSamples = 6000;
  std::map<int, double> found;
  for (const auto& sample : load_first_image(images, cutting(4), {.count = kSamples})) {
    const auto zeros = std::count(sample.begin(), sample.end(), 0.f);
    found[static_cast<int>(zeros) / 2] += 1.0 / kSamples;
  }
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [area, fraction] : expected)
    EXPECT_NEAR(found[area], fraction, 0.035) << "five standard deviations; area " << area;
}

TEST(Augment, UnusableRecipesAreRefused) {
  const auto code = [](const Images& images, const Augmentation& a) {
    try {
      load_first_image(images, a, {});
    } catch (const UserError& error) {
      return error.code();
    }
    return ExitCode::done;
  };
  EXPECT_EQ(code(coordinates(4, 6), translating(3)), ExitCode::done);
  EXPECT_EQ(code(coordinates(4, 6), translating(4)), ExitCode::usage);
  EXPECT_EQ(code({{1, 1, 5}, std::vector<std::uint8_t>(5)}, kPlain), ExitCode::usage);
}

}  // namespace
}  // namespace annulus
