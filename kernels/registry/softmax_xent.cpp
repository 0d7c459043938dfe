// Entries of kernels/softmax_xent: loss, hits and gradient, with and without label smoothing; half
// types with loss scaling.
#include "kernels/softmax_xent.h"

#include <algorithm>
#include <cmath>

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

struct Shape {
  int rows, classes;
  float smoothing;
  float loss_scale = 1;  // 1: none is given
  float mean_of_rows() const { return 1.f / static_cast<float>(rows); }
  float gradient_scale() const { return mean_of_rows() * loss_scale; }
};

// exp(x - max) carries the rounding of |x - max| < 16 and two of its own, the sum of positive
// terms at most `classes` more: that relative error is an absolute one of the logarithm.
double row_roundings(const Shape& shape) { return 20.0 + shape.classes; }

Tolerance result_tolerance(const Shape& shape) {
  return {shape.rows * row_roundings(shape) * kUnitRoundoff,
          (12 + shape.rows / 256.0) * kUnitRoundoff,
          "rows x (16 + 4 + classes) roundings, then the tree over rows"};
}
Tolerance gradient_tolerance(const Shape& shape) {
  return {shape.gradient_scale() * row_roundings(shape) * kUnitRoundoff, 2 * kUnitRoundoff,
          "16 + 4 + classes roundings of a probability"};
}

// Of one row: the loss, and the gradient before scaling.
struct RowReference {
  double loss = 0;
  Values gradient;
};

RowReference row_reference(const double* logits, std::size_t classes, std::size_t label,
                           double smoothing) {
  const double largest = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - largest);
  RowReference row;
  for (std::size_t c = 0; c < classes; ++c) {
    const double log_probability = logits[c] - largest - std::log(sum);
    const double target = (c == label ? 1 - smoothing : 0) + smoothing / classes;
    row.loss -= target * log_probability;
    row.gradient.push_back(std::exp(log_probability) - target);
  }
  return row;
}

Arrays reference(const Shape& shape, const Arrays& in) {
  const Values &logits = in.at("logits"), &labels = in.at("labels");
  const auto classes = static_cast<std::size_t>(shape.classes);
  double loss = 0, hits = 0;
  Values dlogits;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const double* first = logits.data() + n * classes;
    const auto label = static_cast<std::size_t>(labels[n]);
    const RowReference row = row_reference(first, classes, label, shape.smoothing);
    loss += row.loss;
    hits += std::max_element(first, first + classes) == first + label;
    for (double g : row.gradient) dlogits.push_back(shape.gradient_scale() * g);
  }
  return {{"result", {loss, hits}}, {"dlogits", dlogits}};
}

Values random_labels(const Shape& shape) {
  Values labels = uniform_values(shape.rows, 0, shape.classes, 2);
  for (double& label : labels) label = std::floor(label);
  return labels;
}

template <class T>
Case make_case(const Shape& shape) {
  const std::size_t size = std::size_t(shape.rows) * shape.classes;
  Case c("N=" + std::to_string(shape.rows) + " K=" + std::to_string(shape.classes) +
         " smoothing=" + std::to_string(shape.smoothing).substr(0, 4));
  c.flops = 25.0 * static_cast<double>(size);
  if (shape.loss_scale != 1) c.opaque("loss_scale", LossScale{shape.loss_scale, 0});
  c.input<T>("logits", uniform_values(size, -8, 8, 1));
  c.input<std::int32_t>("labels", random_labels(shape));
  c.output<T>("dlogits", size, gradient_tolerance(shape));
  c.output("result", 2, result_tolerance(shape));
  c.workspace("workspace", softmax_xent_workspace(shape.rows));
  c.launch = [shape](cudaStream_t stream, const DeviceArrays& device) {
    softmax_xent(stream, shape.classes, device.span<T>("logits"),
                 device.span<std::int32_t>("labels"), shape.smoothing, shape.mean_of_rows(),
                 device.span<T>("dlogits"), device.span("result"), device.span("workspace"),
                 shape.loss_scale == 1 ? Span<LossScale>{} : device.span<LossScale>("loss_scale"));
  };
  c.reference = [shape](const Arrays& in) { return reference(shape, in); };
  return c;
}

GradientCheck gradient_check() {
  const Shape shape{4, 7, 0.1f};
  const Values labels = random_labels(shape);
  const auto evaluate = [shape, labels](const Arrays& in) {
    return reference(shape, {{"logits", in.at("logits")}, {"labels", labels}});
  };
  GradientCheck check;
  check.inputs = {{"logits", uniform_values(28, -3, 3, 1)}};
  check.loss = [=](const Arrays& in) { return shape.gradient_scale() * evaluate(in)["result"][0]; };
  check.gradient = [=](const Arrays& in) { return Arrays{{"logits", evaluate(in)["dlogits"]}}; };
  return check;
}

}  // namespace

std::vector<Entry> softmax_xent_entries() {
  // One class, fewer and more classes than a warp, a last block of rows that is not full, more
  // rows than the block that sums them.
  const Shape tested[] = {{1, 1, 0.f},   {1, 2, 0.f},     {3, 10, 0.1f},
                          {9, 33, 0.2f}, {17, 100, 0.1f}, {301, 5, 0.f}};
  std::vector<Entry> entries;
  for_activation_types([&]<class T>() {
    Entry entry{.name = name_with<T>("softmax_xent"), .gradient = gradient_check};
    const auto scaled = [](Shape shape) {
      shape.loss_scale = std::is_same_v<T, float> ? 1 : 1024;
      return shape;
    };
    for (const Shape& shape : tested)
      entry.tested.push_back([=] { return make_case<T>(scaled(shape)); });
    entry.timed.push_back([=] { return make_case<T>(scaled({64, 10, 0.1f})); });
    entries.push_back(entry);
  });
  return entries;
}

}  // namespace annulus::registry
