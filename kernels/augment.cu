// The loader's device half: gather, mirror, shift, cut out and normalise in one pass from uint8 to
// the type of activations. Invariant: a sample's random choices follow from the keys in augment.h
// alone, so the cut of the batch into ranks cannot show. Called by engine/resident_data.
#include "kernels/augment.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/check.h"
#include "kernels/packet.h"
#include "kernels/philox.h"
#include "kernels/simt.h"

namespace annulus {
inline namespace augment_kernels {

constexpr int kMaxChannels = 4;

// The Augmentation in arrays that device code may index.
struct Recipe {
  bool flip;
  int translate, cutout;
  float mean[kMaxChannels], inv_std[kMaxChannels];
};

// What was drawn for one sample: which image, and where its output pixels come from.
struct Draw {
  ImageShape shape;
  std::size_t image;  // in the data set
  bool mirrored = false;
  int down = 0, right = 0;                                       // shift over the padded image
  int cut_top = 0, cut_bottom = 0, cut_left = 0, cut_right = 0;  // set to 0; half-open ranges

  SPAN_FN static int reflect(int i, int size) {
    if (i < 0) return -i;
    return i < size ? i : 2 * (size - 1) - i;
  }
  SPAN_FN int source_row(int row) const { return reflect(row + down, shape.height); }
  // Mirroring comes before the shift, so the shifted column is looked up in the mirrored image.
  SPAN_FN int source_column(int column) const {
    const int reflected = reflect(column + right, shape.width);
    return mirrored ? shape.width - 1 - reflected : reflected;
  }
  SPAN_FN bool is_cut_row(int row) const { return row >= cut_top && row < cut_bottom; }
  SPAN_FN bool is_cut(int row, int column) const {
    return is_cut_row(row) && column >= cut_left && column < cut_right;
  }
};

SPAN_FN int clamp(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}

SPAN_FN Draw draw(const ImageShape& shape, const Recipe& recipe, const StepState& state,
                  std::uint32_t position, std::uint32_t image) {
  Draw d{.shape = shape, .image = image};
  if (recipe.flip) {
    const auto purpose = static_cast<std::uint32_t>(Purpose::flip);
    d.mirrored = ((philox(state.seed, purpose, 0, image, 0).x ^ state.epoch) & 1) != 0;
  }
  if (recipe.translate > 0) {
    const auto purpose = static_cast<std::uint32_t>(Purpose::translate);
    const Uint4 random = philox(state.seed, purpose, state.step, position, 0);
    const auto shifts = static_cast<std::uint32_t>(2 * recipe.translate + 1);
    d.down = static_cast<int>(uniform_below(random.x, shifts)) - recipe.translate;
    d.right = static_cast<int>(uniform_below(random.y, shifts)) - recipe.translate;
  }
  if (recipe.cutout > 0) {
    const auto purpose = static_cast<std::uint32_t>(Purpose::cutout);
    const Uint4 random = philox(state.seed, purpose, state.step, position, 0);
    const auto height = static_cast<std::uint32_t>(shape.height);
    const auto width = static_cast<std::uint32_t>(shape.width);
    const int top = static_cast<int>(uniform_below(random.x, height)) - recipe.cutout / 2;
    const int left = static_cast<int>(uniform_below(random.y, width)) - recipe.cutout / 2;
    d.cut_top = clamp(top, 0, shape.height);
    d.cut_bottom = clamp(top + recipe.cutout, 0, shape.height);
    d.cut_left = clamp(left, 0, shape.width);
    d.cut_right = clamp(left + recipe.cutout, 0, shape.width);
  }
  return d;
}

SPAN_FN std::uint32_t image_at(Span<const std::uint32_t> order, const StepState& state,
                               std::uint32_t position) {
  return order[std::size_t{state.first_sample} + position];
}

// One block a sample, one thread a pixel.
template <class T>
__global__ void load(ImageShape shape, Recipe recipe, std::uint32_t first_position,
                     Span<const StepState> state, Span<const std::uint8_t> data,
                     Span<const std::uint8_t> labels, Span<const std::uint32_t> order, Span<T> y,
                     Span<std::int32_t> batch_labels) {
  const std::uint32_t position = first_position + blockIdx.x;
  const Draw d = draw(shape, recipe, state[0], position, image_at(order, state[0], position));
  const std::size_t from = d.image * shape.size(), to = blockIdx.x * shape.size();
  const int pixels = shape.height * shape.width;
  for (int pixel = static_cast<int>(threadIdx.x); pixel < pixels; pixel += kBlock) {
    const int row = pixel / shape.width, column = pixel % shape.width;
    const int source = d.source_row(row) * shape.width + d.source_column(column);
    for (int c = 0; c < shape.channels; ++c) {
      const float value = data[from + std::size_t(source) * shape.channels + c];
      y[to + std::size_t(pixel) * shape.channels + c] = static_cast<T>(
          d.is_cut(row, column) ? 0.f : (value - recipe.mean[c]) * recipe.inv_std[c]);
    }
  }
  if (threadIdx.x == 0) batch_labels[blockIdx.x] = labels[d.image];
}

#if !defined(__CUDACC__)
// The recipe's factors repeated along a row, so that a row is normalised as one vector.
struct RowFactors {
  std::vector<float> mean, inv_std;  // [W,C]

  RowFactors(const ImageShape& shape, const Recipe& recipe) {
    for (int column = 0; column < shape.width; ++column) {
      mean.insert(mean.end(), recipe.mean, recipe.mean + shape.channels);
      inv_std.insert(inv_std.end(), recipe.inv_std, recipe.inv_std + shape.channels);
    }
  }
};

// to[W,C] = the pixels of from[W,C] at the columns that were drawn.
void gather_row(const Draw& d, Span<const std::uint8_t> from, std::vector<std::uint8_t>& to) {
  const int channels = d.shape.channels;
  for (int column = 0, i = 0; column < d.shape.width; ++column) {
    const int source = d.source_column(column) * channels;
    for (int c = 0; c < channels; ++c) to[i++] = from[source + c];
  }
}

// y = (x - mean) * inv_std over one row; the cut columns become 0.
template <class T>
void normalise_row(const Draw& d, const RowFactors& factors, bool cut,
                   const std::vector<std::uint8_t>& x, Span<T> y) {
  for (std::size_t i = 0; i < y.size; ++i)
    y[i] = static_cast<T>((x[i] - factors.mean[i]) * factors.inv_std[i]);
  if (!cut) return;
  for (int i = d.cut_left * d.shape.channels; i < d.cut_right * d.shape.channels; ++i)
    y[i] = static_cast<T>(0.f);
}

template <class T>
void load_cpu(ImageShape shape, Recipe recipe, std::uint32_t first_position,
              Span<const StepState> state, Span<const std::uint8_t> data,
              Span<const std::uint8_t> labels, Span<const std::uint32_t> order, Span<T> y,
              Span<std::int32_t> batch_labels) {
  const RowFactors factors(shape, recipe);
  const std::size_t row_size = factors.mean.size();
  simt::parallel(batch_labels.size, [&](std::size_t sample) {
    const std::uint32_t position = first_position + static_cast<std::uint32_t>(sample);
    const Draw d = draw(shape, recipe, state[0], position, image_at(order, state[0], position));
    const std::size_t from = d.image * shape.size(), to = sample * shape.size();
    std::vector<std::uint8_t> gathered(row_size);
    for (int row = 0; row < shape.height; ++row) {
      gather_row(d, data.subspan(from + d.source_row(row) * row_size, row_size), gathered);
      normalise_row(d, factors, d.is_cut_row(row), gathered,
                    y.subspan(to + row * row_size, row_size));
    }
    batch_labels[sample] = labels[d.image];
  });
}
#endif

Recipe checked_recipe(const ImageShape& shape, const Augmentation& augmentation) {
  using std::to_string;
  if (shape.channels > kMaxChannels)
    throw UserError(ExitCode::usage, "images of " + to_string(shape.channels) +
                                         " channels cannot be loaded: use at most " +
                                         to_string(kMaxChannels));
  if (const int most = std::min(shape.height, shape.width) - 1; augmentation.translate > most)
    throw UserError(ExitCode::usage, "translation by " + to_string(augmentation.translate) +
                                         " pixels is too far to be filled by reflection: use at "
                                         "most " +
                                         to_string(most));
  Recipe recipe{augmentation.flip, augmentation.translate, augmentation.cutout, {}, {}};
  std::copy_n(augmentation.mean.begin(), kMaxChannels, recipe.mean);
  std::copy_n(augmentation.inv_std.begin(), kMaxChannels, recipe.inv_std);
  return recipe;
}

}  // namespace augment_kernels

template <class T>
void load_batch(cudaStream_t stream, Span<const StepState> state, std::uint32_t first_position,
                const ImageShape& shape, const Augmentation& augmentation,
                Span<const std::uint8_t> data, Span<const std::uint8_t> labels,
                Span<const std::uint32_t> order, Span<T> y, Span<std::int32_t> batch_labels) {
  if (batch_labels.empty()) return;
  launch(load<T>, static_cast<unsigned>(batch_labels.size), kBlock, 0, stream, shape,
         checked_recipe(shape, augmentation), first_position, state, data, labels, order, y,
         batch_labels);
}

namespace {
#define ANNULUS_KERNELS(T) \
  SIMT_KERNEL(load<T>)     \
  SIMT_CPU_FORM((load<T>), (load_cpu<T>))
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_KERNELS)
}  // namespace

#define ANNULUS_INSTANTIATE(T)                                                                  \
  template void load_batch<T>(cudaStream_t, Span<const StepState>, std::uint32_t,               \
                              const ImageShape&, const Augmentation&, Span<const std::uint8_t>, \
                              Span<const std::uint8_t>, Span<const std::uint32_t>, Span<T>,     \
                              Span<std::int32_t>);
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_INSTANTIATE)

}  // namespace annulus
