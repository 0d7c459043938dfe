// Entry of kernels/dropout: the reference draws each element's number by itself from the key that
// the header gives.
#include "kernels/dropout.h"

#include "kernels/philox.h"
#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

const Tolerance kScaled{0, 2 * kUnitRoundoff, "1 / (1 - rate) and the product round once each"};

struct Shape {
  int images;
  std::size_t sample_size;
  float rate;
  DropoutKey key{.layer = 0, .first_position = 0};
};

constexpr StepState kState{
    .seed = 0x123456789abcdefull, .step = 17, .epoch = 2, .first_sample = 640, .learning_rate = 0};

Values reference(const Shape& shape, const Values& x) {
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto sample = static_cast<std::uint32_t>(i / shape.sample_size);
    const auto element = static_cast<std::uint32_t>(i % shape.sample_size);
    const Uint4 random =
        philox(kState.seed, static_cast<std::uint32_t>(Purpose::dropout) + shape.key.layer,
               kState.step, shape.key.first_position + sample, element / 4);
    const std::uint32_t bits[] = {random.x, random.y, random.z, random.w};
    y[i] = uniform(bits[element % 4]) >= shape.rate ? x[i] / (1.0 - shape.rate) : 0;
  }
  return y;
}

template <class T>
Case make_case(const Shape& shape) {
  const std::size_t size = shape.images * shape.sample_size;
  Case c("N=" + std::to_string(shape.images) + " sample=" + std::to_string(shape.sample_size) +
         " rate=" + std::to_string(shape.rate).substr(0, 4));
  c.flops = static_cast<double>(size);
  c.opaque("state", kState);
  c.input<T>("x", uniform_values(size, -2, 2, 1));
  c.output<T>("y", size, kScaled);
  c.launch = [shape](cudaStream_t stream, const DeviceArrays& device) {
    dropout(stream, shape.key, device.span<StepState>("state"), shape.rate, shape.images,
            device.span<T>("x"), device.span<T>("y"));
  };
  c.reference = [shape](const Arrays& in) { return Arrays{{"y", reference(shape, in.at("x"))}}; };
  return c;
}

// Dropout is its own backward: dx is dy through the same mask.
GradientCheck gradient_check() {
  const Shape shape{3, 13, 0.5f};
  GradientCheck check;
  check.inputs = {{"x", uniform_values(39, -1, 1, 1)}, {"dy", uniform_values(39, -1, 1, 2)}};
  check.loss = [shape](const Arrays& in) {
    const Values y = reference(shape, in.at("x"));
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += in.at("dy")[i] * y[i];
    return sum;
  };
  check.gradient = [shape](const Arrays& in) {
    return Arrays{{"x", reference(shape, in.at("dy"))}};
  };
  return check;
}

}  // namespace

std::vector<Entry> dropout_entries() {
  // Samples of less than a block of four numbers, of no whole number of blocks, of more than the 32
  // elements that the CPU form takes at once, and one larger than a piece of the CPU device.
  const Shape tested[] = {
      {1, 1, 0.5f},     {3, 7, 0.2f, {.layer = 1, .first_position = 5}},
      {5, 10, 0.f},     {4, 33, 0.5f, {.layer = 3, .first_position = 0xffffffffu}},
      {200, 128, 0.9f}, {1, 50003, 0.2f}};
  const Shape timed[] = {{64, 16 * 16 * 32, 0.2f},  // the four of seed-cnn
                         {64, 8 * 8 * 64, 0.2f},
                         {64, 4 * 4 * 128, 0.2f},
                         {64, 128, 0.5f}};
  std::vector<Entry> entries;
  for_activation_types([&]<class T>() {
    Entry entry{.name = name_with<T>("dropout"), .gradient = gradient_check};
    for (const Shape& shape : tested)
      entry.tested.push_back([shape] { return make_case<T>(shape); });
    for (const Shape& shape : timed) entry.timed.push_back([shape] { return make_case<T>(shape); });
    entries.push_back(entry);
  });
  return entries;
}

}  // namespace annulus::registry
