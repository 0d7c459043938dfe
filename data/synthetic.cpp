// Draws each image from its own Philox stream: background colour, a textured disc, noise on top.
// Only additions, multiplications, floors and roots, which IEEE 754 rounds alike everywhere: no
// libm, so no machine differs in a bit.
#include "data/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "kernels/philox.h"
#include "kernels/step_state.h"

namespace annulus {
namespace {

constexpr int kSide = 32, kChannels = 3;
constexpr std::uint32_t kTrainImages = 10000, kTestImages = 2000;
constexpr float kFinePeriod = 4.f, kCoarsePeriod = 8.f;  // pixels
constexpr float kNoise = 24.f;                           // each way, of 255
constexpr std::array<std::string_view, 5> kPatterns = {"horizontal stripes", "vertical stripes",
                                                       "diagonal stripes", "checks", "rings"};

// One image's random numbers. Bytes for the noise come from a stream of their own.
class ImageNumbers {
 public:
  ImageNumbers(std::uint64_t seed, std::uint32_t image) : seed_(seed), image_(image) {}

  float between(float low, float high) {
    if (used_ == 4) {
      words_ = block(Stream::choices, next_block_++);
      used_ = 0;
    }
    return low + (high - low) * uniform(words_[used_++]);
  }

  // Sixteen noise values in [-kNoise, kNoise].
  std::array<float, 16> noise(std::uint32_t index) const {
    std::array<float, 16> values{};
    const std::array<std::uint32_t, 4> words = block(Stream::noise, index);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint32_t byte = words[i / 4] >> (8 * (i % 4)) & 0xff;
      values[i] = (static_cast<float>(byte) / 127.5f - 1.f) * kNoise;
    }
    return values;
  }

 private:
  enum class Stream : std::uint32_t { choices = 0, noise = 1 };

  std::array<std::uint32_t, 4> block(Stream stream, std::uint32_t index) const {
    const Uint4 words = philox(seed_, static_cast<std::uint32_t>(Purpose::synthetic),
                               static_cast<std::uint32_t>(stream), image_, index);
    return {words.x, words.y, words.z, words.w};
  }

  std::uint64_t seed_;
  std::uint32_t image_;
  std::uint32_t next_block_ = 0;
  std::array<std::uint32_t, 4> words_{};
  int used_ = 4;
};

// A triangle wave of period 1 between -1 and 1: over a random phase its mean is 0.
float wave(float x) { return 4.f * std::fabs(x - std::floor(x + 0.5f)) - 1.f; }

// A textured disc. Its light parts are as likely at any pixel as its dark ones, because the phases
// are uniform.
struct Patch {
  int pattern;
  float period, phase_x, phase_y;
  float center_x, center_y, radius;
  float slope;  // of diagonal stripes: +1 or -1, so that a mirrored image has the same class
  std::array<float, kChannels> contrast;

  Patch(int label, ImageNumbers& numbers)
      : pattern(label / 2),
        period(label % 2 == 0 ? kFinePeriod : kCoarsePeriod),
        phase_x(numbers.between(0.f, 1.f)),
        phase_y(numbers.between(0.f, 1.f)),
        radius(numbers.between(6.f, 9.f)),
        slope(numbers.between(-1.f, 1.f) < 0.f ? -1.f : 1.f) {
    center_x = numbers.between(radius, kSide - radius);
    center_y = numbers.between(radius, kSide - radius);
    for (float& c : contrast) c = numbers.between(20.f, 50.f);
  }

  bool covers(float x, float y) const {
    const float dx = x - center_x, dy = y - center_y;
    return dx * dx + dy * dy <= radius * radius;
  }

  float texture(float x, float y) const {
    constexpr float diagonal = 0.70710678f;  // keeps the distance of diagonal stripes at one period
    const float dx = x - center_x, dy = y - center_y;
    switch (pattern) {
      case 0:
        return wave(y / period + phase_y);
      case 1:
        return wave(x / period + phase_x);
      case 2:
        return wave((x + slope * y) * diagonal / period + phase_x);
      case 3:
        return wave(x / period + phase_x) * wave(y / period + phase_y);
      default:
        return wave(std::sqrt(dx * dx + dy * dy) / period + phase_x);
    }
  }
};

void draw(int label, ImageNumbers numbers, std::uint8_t* pixels) {
  const Patch patch(label, numbers);
  std::array<float, kChannels> background{};
  for (float& b : background) b = numbers.between(88.f, 168.f);

  std::array<float, 16> noise{};
  std::size_t byte = 0;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const float fx = static_cast<float>(x), fy = static_cast<float>(y);
      const float texture = patch.covers(fx, fy) ? patch.texture(fx, fy) : 0.f;
      for (int c = 0; c < kChannels; ++c, ++byte) {
        if (byte % 16 == 0) noise = numbers.noise(static_cast<std::uint32_t>(byte / 16));
        const float value = background[c] + patch.contrast[c] * texture + noise[byte % 16];
        pixels[byte] = static_cast<std::uint8_t>(std::clamp(value, 0.f, 255.f));
      }
    }
}

}  // namespace

Dataset synthetic_images(std::uint64_t seed, std::uint32_t first, std::uint32_t count) {
  Dataset dataset;
  dataset.name = "synthetic";
  dataset.image = {kSide, kSide, kChannels};
  for (const std::string_view pattern : kPatterns)
    for (const char* scale : {"fine ", "coarse "})
      dataset.class_names.push_back(std::string(scale).append(pattern));
  dataset.classes = static_cast<int>(dataset.class_names.size());
  dataset.images.resize(count * dataset.image.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t image = first + i;
    const int label = static_cast<int>(image % dataset.classes);
    dataset.labels.push_back(static_cast<std::uint8_t>(label));
    draw(label, ImageNumbers(seed, image), dataset.images.data() + i * dataset.image.size());
  }
  return dataset;
}

Datasets make_synthetic(std::uint64_t seed) {
  Datasets datasets;
  datasets.train = synthetic_images(seed, 0, kTrainImages);
  datasets.test = synthetic_images(seed, kTrainImages, kTestImages);
  datasets.source = "synthetic";
  datasets.format = "generated";
  return datasets;
}

}  // namespace annulus
