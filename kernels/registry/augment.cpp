// Entry of kernels/augment. The reference takes the slow literal way: mirror the image, pad it by
// reflection, crop, normalise, blank the square, each a pass over a whole image.
#include "kernels/augment.h"

#include <algorithm>

#include "kernels/philox.h"
#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

const Tolerance kNormalised{0, 2 * kUnitRoundoff, "the difference and the product round once each"};
const Tolerance kExact{0, 0, "copied: exact"};

constexpr StepState kState{
    .seed = 77, .step = 9, .epoch = 1, .first_sample = 2, .learning_rate = 0};

struct Shape {
  int batch;
  ImageShape image;
  Augmentation augmentation;
  std::uint32_t first_position = 0;

  std::size_t data_set() const { return kState.first_sample + first_position + batch; }
};

// An image in double that can be asked for any pixel.
struct Image {
  ImageShape shape;
  Values pixels;  // [H,W,C]

  explicit Image(const ImageShape& s) : shape(s), pixels(s.size()) {}
  double& at(int row, int column, int channel) {
    return pixels[(std::size_t(row) * shape.width + column) * shape.channels + channel];
  }
};

// Calls visit(row, column, channel) for every element.
template <class Visit>
void for_each_element(const ImageShape& shape, Visit visit) {
  for (int row = 0; row < shape.height; ++row)
    for (int column = 0; column < shape.width; ++column)
      for (int channel = 0; channel < shape.channels; ++channel) visit(row, column, channel);
}

Image mirrored(Image image) {
  Image result = image;
  for_each_element(image.shape, [&](int row, int column, int channel) {
    result.at(row, column, channel) = image.at(row, image.shape.width - 1 - column, channel);
  });
  return result;
}

// The border of `pad` pixels is written outwards, each pixel from its mirror image about the edge.
Image padded(Image image, int pad) {
  Image result({image.shape.height + 2 * pad, image.shape.width + 2 * pad, image.shape.channels});
  const int bottom = pad + image.shape.height - 1, right = pad + image.shape.width - 1;
  for_each_element(image.shape, [&](int row, int column, int channel) {
    result.at(pad + row, pad + column, channel) = image.at(row, column, channel);
  });
  for (int d = 1; d <= pad; ++d)
    for (int column = pad; column <= right; ++column)
      for (int channel = 0; channel < image.shape.channels; ++channel) {
        result.at(pad - d, column, channel) = result.at(pad + d, column, channel);
        result.at(bottom + d, column, channel) = result.at(bottom - d, column, channel);
      }
  for (int d = 1; d <= pad; ++d)
    for (int row = 0; row < result.shape.height; ++row)
      for (int channel = 0; channel < image.shape.channels; ++channel) {
        result.at(row, pad - d, channel) = result.at(row, pad + d, channel);
        result.at(row, right + d, channel) = result.at(row, right - d, channel);
      }
  return result;
}

Image cropped(Image image, int top, int left, const ImageShape& shape) {
  Image result(shape);
  for_each_element(shape, [&](int row, int column, int channel) {
    result.at(row, column, channel) = image.at(top + row, left + column, channel);
  });
  return result;
}

void normalise(Image& image, const Augmentation& augmentation) {
  for_each_element(image.shape, [&](int row, int column, int channel) {
    double& x = image.at(row, column, channel);
    x = (x - augmentation.mean[channel]) * augmentation.inv_std[channel];
  });
}

void blank(Image& image, int top, int left, int side) {
  for_each_element(image.shape, [&](int row, int column, int channel) {
    if (row >= top && row < top + side && column >= left && column < left + side)
      image.at(row, column, channel) = 0;
  });
}

Uint4 drawn(Purpose purpose, std::uint32_t step, std::uint32_t position) {
  return philox(kState.seed, static_cast<std::uint32_t>(purpose), step, position, 0);
}

Image augmented(Image image, const Augmentation& a, std::uint32_t index, std::uint32_t position) {
  const ImageShape shape = image.shape;
  if (a.flip && (drawn(Purpose::flip, 0, index).x & 1) != (kState.epoch & 1))
    image = mirrored(image);
  if (a.translate > 0) {
    const Uint4 shift = drawn(Purpose::translate, kState.step, position);
    const auto choices = static_cast<std::uint32_t>(2 * a.translate + 1);
    image = cropped(padded(image, a.translate), static_cast<int>(uniform_below(shift.x, choices)),
                    static_cast<int>(uniform_below(shift.y, choices)), shape);
  }
  normalise(image, a);
  if (a.cutout > 0) {
    const Uint4 centre = drawn(Purpose::cutout, kState.step, position);
    const auto height = static_cast<std::uint32_t>(shape.height);
    const auto width = static_cast<std::uint32_t>(shape.width);
    blank(image, static_cast<int>(uniform_below(centre.x, height)) - a.cutout / 2,
          static_cast<int>(uniform_below(centre.y, width)) - a.cutout / 2, a.cutout);
  }
  return image;
}

Arrays reference(const Shape& shape, const Arrays& in) {
  Values y, batch_labels;
  for (int n = 0; n < shape.batch; ++n) {
    const std::uint32_t position = shape.first_position + static_cast<std::uint32_t>(n);
    const auto index = static_cast<std::uint32_t>(in.at("order")[kState.first_sample + position]);
    Image image(shape.image);
    std::copy_n(in.at("data").begin() + static_cast<std::ptrdiff_t>(index * shape.image.size()),
                shape.image.size(), image.pixels.begin());
    image = augmented(image, shape.augmentation, index, position);
    y.insert(y.end(), image.pixels.begin(), image.pixels.end());
    batch_labels.push_back(in.at("labels")[index]);
  }
  return {{"y", y}, {"batch_labels", batch_labels}};
}

// A permutation of the data set: the samples backwards.
Values backwards(std::size_t count) {
  Values order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<double>(count - 1 - i);
  return order;
}

std::string label(const Shape& shape) {
  const ImageShape& image = shape.image;
  const Augmentation& a = shape.augmentation;
  return "N=" + std::to_string(shape.batch) + " H=" + std::to_string(image.height) +
         " W=" + std::to_string(image.width) + " C=" + std::to_string(image.channels) +
         (a.flip ? " flip" : "") + " translate=" + std::to_string(a.translate) +
         " cutout=" + std::to_string(a.cutout);
}

template <class T>
Case make_case(const Shape& shape) {
  const std::size_t images = shape.data_set(), size = shape.batch * shape.image.size();
  Case c(label(shape));
  c.flops = 2.0 * static_cast<double>(size);
  c.opaque("state", kState);
  c.input<std::uint8_t>("data", uniform_values(images * shape.image.size(), 0, 256, 1));
  c.input<std::uint8_t>("labels", uniform_values(images, 0, 10, 2));
  c.input<std::uint32_t>("order", backwards(images));
  c.output<T>("y", size, kNormalised);
  c.output<std::int32_t>("batch_labels", shape.batch, kExact);
  c.launch = [shape](cudaStream_t stream, const DeviceArrays& device) {
    load_batch(stream, device.span<StepState>("state"), shape.first_position, shape.image,
               shape.augmentation, device.span<std::uint8_t>("data"),
               device.span<std::uint8_t>("labels"), device.span<std::uint32_t>("order"),
               device.span<T>("y"), device.span<std::int32_t>("batch_labels"));
  };
  c.reference = [shape](const Arrays& in) { return reference(shape, in); };
  return c;
}

Augmentation recipe(bool flip, int translate, int cutout) {
  return {.flip = flip,
          .translate = translate,
          .cutout = cutout,
          .mean = {125.3f, 122.9f, 113.8f, 100.f},
          .inv_std = {1 / 63.0f, 1 / 62.1f, 1 / 66.7f, 1 / 50.f}};
}

}  // namespace

std::vector<Entry> augment_entries() {
  // One pixel; each augmentation alone; the largest translation an image allows; a square larger
  // than the image; not the first rank; more pixels than a block has threads.
  const Shape tested[] = {
      {1, {1, 1, 1}, recipe(true, 0, 0)},       {9, {5, 7, 3}, recipe(false, 0, 0)},
      {9, {5, 7, 3}, recipe(true, 0, 0)},       {9, {5, 7, 4}, recipe(false, 4, 0), 3},
      {9, {7, 5, 1}, recipe(false, 0, 3), 3},   {3, {4, 4, 2}, recipe(false, 0, 9)},
      {20, {19, 17, 3}, recipe(true, 2, 5), 11}};
  std::vector<Entry> entries;
  for_activation_types([&]<class T>() {
    Entry entry{.name = name_with<T>("load_batch")};
    for (const Shape& shape : tested)
      entry.tested.push_back([shape] { return make_case<T>(shape); });
    for (int cutout : {0, 8})
      entry.timed.push_back([cutout] {
        return make_case<T>({64, {32, 32, 3}, recipe(true, 2, cutout)});
      });
    entries.push_back(entry);
  });
  return entries;
}

}  // namespace annulus::registry
