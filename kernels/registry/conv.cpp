// Entries of kernels/conv: each ConvKind, for fp32 and the half types, against the definition of
// the convolution in double. TF32 is left out: how a library rounds inputs to it is its own affair.
#include "kernels/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

// The index of [row, column] in a row-major array of rows of `columns`.
std::size_t flat(std::size_t row, int columns, int column) {
  return row * std::size_t(columns) + std::size_t(column);
}

// Calls visit(x, w, y), flat indices, for every product x[...] * w[...] that adds to y[...].
template <class Visit>
void for_each_product(const ConvShape& s, Visit&& visit) {
  std::size_t y = 0;
  for (int image = 0; image < s.images; ++image)
    for (int row = 0; row < s.out_height(); ++row)
      for (int column = 0; column < s.out_width(); ++column)
        for (int filter = 0; filter < s.out_channels; ++filter, ++y)
          for (int r = 0; r < s.kernel_h; ++r)
            for (int q = 0; q < s.kernel_w; ++q) {
              const int in_row = row * s.stride_h - s.pad_h + r;
              const int in_column = column * s.stride_w - s.pad_w + q;
              if (in_row < 0 || in_row >= s.height || in_column < 0 || in_column >= s.width)
                continue;
              const std::size_t pixel =
                  flat(flat(std::size_t(image), s.height, in_row), s.width, in_column);
              const std::size_t tap = flat(flat(std::size_t(filter), s.kernel_h, r), s.kernel_w, q);
              for (int c = 0; c < s.in_channels; ++c)
                visit(flat(pixel, s.in_channels, c), flat(tap, s.in_channels, c), y);
            }
}

Values forward_reference(const ConvShape& s, const Values& x, const Values& w) {
  Values result(s.y_size());
  for_each_product(
      s, [&](std::size_t xi, std::size_t wi, std::size_t yi) { result[yi] += x[xi] * w[wi]; });
  return result;
}

Values data_gradient_reference(const ConvShape& s, const Values& dy, const Values& w) {
  Values result(s.x_size());
  for_each_product(
      s, [&](std::size_t xi, std::size_t wi, std::size_t yi) { result[xi] += dy[yi] * w[wi]; });
  return result;
}

Values weight_gradient_reference(const ConvShape& s, const Values& x, const Values& dy) {
  Values result(s.w_size());
  for_each_product(
      s, [&](std::size_t xi, std::size_t wi, std::size_t yi) { result[wi] += x[xi] * dy[yi]; });
  return result;
}

Values add_bias(Values y, const Values& bias, bool relu) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] += bias[i % bias.size()];
    if (relu) y[i] = std::max(0.0, y[i]);
  }
  return y;
}

struct Kind {
  ConvKind kind;
  const char* name;
  const char *a, *b, *out;  // the arrays' names, as ConvKind's comments have them

  bool bias() const {
    return kind == ConvKind::forward_bias || kind == ConvKind::forward_bias_relu;
  }
};

constexpr Kind kKinds[] = {
    {ConvKind::forward, "conv_forward", "x", "w", "y"},
    {ConvKind::forward_bias, "conv_forward bias", "x", "w", "y"},
    {ConvKind::forward_bias_relu, "conv_forward bias relu", "x", "w", "y"},
    {ConvKind::data_gradient, "conv_data_gradient", "dy", "w", "dx"},
    {ConvKind::weight_gradient, "conv_weight_gradient", "x", "dy", "dw"},
};

std::size_t size_of(const std::string& array, const ConvShape& s) {
  if (array == "x" || array == "dx") return s.x_size();
  if (array == "w" || array == "dw") return s.w_size();
  return s.y_size();
}

Values reference(const Kind& kind, const ConvShape& s, const Arrays& in) {
  switch (kind.kind) {
    case ConvKind::data_gradient:
      return data_gradient_reference(s, in.at("dy"), in.at("w"));
    case ConvKind::weight_gradient:
      return weight_gradient_reference(s, in.at("x"), in.at("dy"));
    case ConvKind::forward:
      return forward_reference(s, in.at("x"), in.at("w"));
    default:
      return add_bias(forward_reference(s, in.at("x"), in.at("w")), in.at("bias"),
                      kind.kind == ConvKind::forward_bias_relu);
  }
}

// Inputs lie in [-1, 1]. A sum of n such products has a spread of sqrt(n) / 3, the largest of many
// thousand outputs about five times that, and n roundings of it add up like sqrt(n) of them: 1.7 n
// half-units, seldom twice that.
Tolerance tolerance(const ConvShape& s, ConvKind kind) {
  double products = double(s.kernel_h) * s.kernel_w;
  if (kind == ConvKind::weight_gradient)
    products = double(s.images) * s.out_height() * s.out_width();
  else
    products *= kind == ConvKind::data_gradient ? s.out_channels : s.in_channels;
  return {4 * (products + 2) * kUnitRoundoff, 0, "n roundings of a sum of n products, fp32"};
}

struct Planned {
  CudnnHandle handle;
  ConvPlan plan;

  Planned(const ConvShape& shape, ConvKind kind, const Precision& precision)
      : plan(handle, shape, kind, precision) {}
};

std::string describe(const ConvShape& s) {
  return fmt::format("N={} H={} W={} C={} K={} kernel={}x{} stride={}x{} pad={}x{}", s.images,
                     s.height, s.width, s.in_channels, s.out_channels, s.kernel_h, s.kernel_w,
                     s.stride_h, s.stride_w, s.pad_h, s.pad_w);
}

// fp32 in memory, and a T for cuDNN: numbers that both hold.
template <class T>
Values bias_values(const ConvShape& shape) {
  Values values = uniform_values(std::size_t(shape.out_channels), -1, 1, 3);
  if constexpr (!std::is_same_v<T, float>)
    for (double& value : values) value = kHalfTypeFormat<T>->round(value);
  return values;
}

bool writes_float(const Kind& kind) { return kind.kind == ConvKind::weight_gradient; }

template <class T>
AnyOutput output_of(const Kind& kind, const DeviceArrays& device) {
  if constexpr (!std::is_same_v<T, float>)
    if (!writes_float(kind)) return device.span<T>(kind.out);
  return device.span(kind.out);
}

template <class T>
Case make_case(const Kind& kind, const ConvShape& shape) {
  const auto planned = std::make_shared<const Planned>(shape, kind.kind, kPrecisionOf<T>);
  Case c(describe(shape));
  c.flops = shape.flops();
  c.input<T>(kind.a, uniform_values(size_of(kind.a, shape), -1, 1, 1));
  c.input<T>(kind.b, uniform_values(size_of(kind.b, shape), -1, 1, 2));
  if (kind.bias()) c.input("bias", bias_values<T>(shape));
  if (writes_float(kind))
    c.output_by_way_of<T>(kind.out, size_of(kind.out, shape), tolerance(shape, kind.kind));
  else
    c.output<T>(kind.out, size_of(kind.out, shape), tolerance(shape, kind.kind));
  c.workspace<std::byte>("workspace", planned->plan.workspace_bytes());
  c.launch = [planned, kind](cudaStream_t stream, const DeviceArrays& device) {
    planned->plan.run(planned->handle, stream, device.span<T>(kind.a), device.span<T>(kind.b),
                      kind.bias() ? device.span("bias") : Span<float>{}, output_of<T>(kind, device),
                      device.span<std::byte>("workspace"));
  };
  c.reference = [kind, shape](const Arrays& in) {
    return Arrays{{kind.out, reference(kind, shape, in)}};
  };
  return c;
}

GradientCheck gradient_check(const Kind& kind) {
  const ConvShape s{.images = 2,
                    .height = 4,
                    .width = 3,
                    .in_channels = 2,
                    .out_channels = 3,
                    .kernel_h = 3,
                    .kernel_w = 2,
                    .stride_h = 2,
                    .stride_w = 1,
                    .pad_h = 1,
                    .pad_w = 1};
  GradientCheck check;
  check.inputs = {{"x", uniform_values(s.x_size(), -1, 1, 1)},
                  {"w", uniform_values(s.w_size(), -1, 1, 2)},
                  {"dy", uniform_values(s.y_size(), -1, 1, 3)}};
  check.loss = [s](const Arrays& in) {
    const Values y = forward_reference(s, in.at("x"), in.at("w"));
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += in.at("dy")[i] * y[i];
    return sum;
  };
  check.gradient = [s, kind](const Arrays& in) {
    const std::string input = kind.kind == ConvKind::data_gradient ? "x" : "w";
    return Arrays{{input, reference(kind, s, in)}};
  };
  return check;
}

// Odd channels, tiny images, kernels of one row, strides that leave a rest, batches that cannot be
// cut evenly.
std::vector<ConvShape> tested_shapes() {
  return {
      {.images = 1,
       .height = 1,
       .width = 1,
       .in_channels = 1,
       .out_channels = 1,
       .kernel_h = 1,
       .kernel_w = 1},
      {.images = 1,
       .height = 5,
       .width = 4,
       .in_channels = 3,
       .out_channels = 5,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1},
      {.images = 2,
       .height = 2,
       .width = 2,
       .in_channels = 5,
       .out_channels = 3,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1},
      {.images = 3,
       .height = 7,
       .width = 9,
       .in_channels = 3,
       .out_channels = 24,
       .kernel_h = 2,
       .kernel_w = 2},
      {.images = 5,
       .height = 9,
       .width = 7,
       .in_channels = 4,
       .out_channels = 6,
       .kernel_h = 3,
       .kernel_w = 1,
       .stride_h = 2,
       .stride_w = 3,
       .pad_h = 1,
       .pad_w = 0},
      {.images = 4,
       .height = 11,
       .width = 10,
       .in_channels = 1,
       .out_channels = 8,
       .kernel_h = 5,
       .kernel_w = 5,
       .stride_h = 2,
       .stride_w = 2,
       .pad_h = 2,
       .pad_w = 2},
      {.images = 17,
       .height = 6,
       .width = 6,
       .in_channels = 16,
       .out_channels = 32,
       .kernel_h = 1,
       .kernel_w = 1,
       .stride_h = 2,
       .stride_w = 2},
      {.images = 53,
       .height = 5,
       .width = 6,
       .in_channels = 3,
       .out_channels = 32,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1},
      {.images = 19,
       .height = 4,
       .width = 4,
       .in_channels = 32,
       .out_channels = 64,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1},
      {.images = 35,
       .height = 4,
       .width = 4,
       .in_channels = 64,
       .out_channels = 48,
       .kernel_h = 3,
       .kernel_w = 3,
       .stride_h = 2,
       .stride_w = 2,
       .pad_h = 1,
       .pad_w = 1},
  };
}

// The convolutions of seed-cnn at batch 64.
std::vector<ConvShape> timed_shapes() {
  std::vector<ConvShape> shapes;
  struct Layer {
    int size, in, out;
  };
  for (const Layer& layer : {Layer{32, 3, 32}, Layer{32, 32, 32}, Layer{16, 32, 64},
                             Layer{16, 64, 64}, Layer{8, 64, 128}, Layer{8, 128, 128}})
    shapes.push_back({.images = 64,
                      .height = layer.size,
                      .width = layer.size,
                      .in_channels = layer.in,
                      .out_channels = layer.out,
                      .kernel_h = 3,
                      .kernel_w = 3,
                      .pad_h = 1,
                      .pad_w = 1});
  return shapes;
}

template <class T>
Entry entry_of(const Kind& kind) {
  Entry entry{.name = name_with<T>(kind.name)};
  for (const ConvShape& shape : tested_shapes())
    entry.tested.push_back([=] { return make_case<T>(kind, shape); });
  for (const ConvShape& shape : timed_shapes())
    entry.timed.push_back([=] { return make_case<T>(kind, shape); });
  if (kind.kind == ConvKind::data_gradient || kind.kind == ConvKind::weight_gradient)
    entry.gradient = [=] { return gradient_check(kind); };
  return entry;
}

}  // namespace

std::vector<Entry> conv_entries() {
  std::vector<Entry> entries;
  for (const Kind& kind : kKinds)
    for_activation_types([&]<class T>() { entries.push_back(entry_of<T>(kind)); });
  return entries;
}

}  // namespace annulus::registry
