// Conv2D over three ConvPlans: forward, data gradient, weight gradient. The bias gradient is a
// kernel of ours.
#include "engine/layers/conv.h"

#include <algorithm>
#include <optional>

#include "kernels/bias.h"

namespace annulus {
namespace {

struct ConvPlans final : LayerPlan {
  std::optional<ConvPlan> forward, data_gradient, weight_gradient;
};

int extent(int in, const ConvOptions& o) { return (in + 2 * o.padding - o.kernel) / o.stride + 1; }

ImageShape output_shape(ImageShape in, const ConvOptions& o) {
  return {extent(in.height, o), extent(in.width, o), o.filters};
}

}  // namespace

Conv2D::Conv2D(const std::string& name, ImageShape in, const ConvOptions& options, Init init)
    : Layer(name, in, output_shape(in, options)), options_(options) {
  const int taps = options.kernel * options.kernel;
  weight_ = {.name = name + ".weight",
             .shape = {options.filters, options.kernel, options.kernel, in.channels},
             .init = init,
             .fan_in = taps * in.channels,
             .fan_out = taps * options.filters,
             .decayed = true,
             .slice = {}};
  bias_ = {.name = name + ".bias", .shape = {options.filters}, .slice = {}};
}

std::vector<Parameter*> Conv2D::parameters() {
  if (options_.bias) return {&weight_, &bias_};
  return {&weight_};
}

ConvShape Conv2D::shape(int images) const {
  return {.images = images,
          .height = in().height,
          .width = in().width,
          .in_channels = in().channels,
          .out_channels = out().channels,
          .kernel_h = options_.kernel,
          .kernel_w = options_.kernel,
          .stride_h = options_.stride,
          .stride_w = options_.stride,
          .pad_h = options_.padding,
          .pad_w = options_.padding};
}

std::vector<ConvCall> Conv2D::convolutions(int images, bool needs_dx) const {
  const ConvShape s = shape(images);
  std::vector<ConvCall> calls = {{s, forward_kind()}, {s, ConvKind::weight_gradient}};
  if (needs_dx) calls.push_back({s, ConvKind::data_gradient});
  return calls;
}

std::unique_ptr<LayerPlan> Conv2D::plan(const Device& device, const PlannedUse& use) const {
  auto plans = std::make_unique<ConvPlans>();
  const auto make = [&](std::optional<ConvPlan>& plan, ConvKind kind) {
    plan.emplace(device.cudnn, shape(use.images), kind, use.precision);
  };
  make(plans->forward, forward_kind());
  if (use.training) make(plans->weight_gradient, ConvKind::weight_gradient);
  if (use.needs_dx) make(plans->data_gradient, ConvKind::data_gradient);
  return plans;
}

std::size_t Conv2D::workspace_bytes(const LayerPlan* plan, int images) const {
  const auto& plans = static_cast<const ConvPlans&>(*plan);
  std::size_t bytes = plans.forward->workspace_bytes();
  if (plans.data_gradient) bytes = std::max(bytes, plans.data_gradient->workspace_bytes());
  if (plans.weight_gradient) {
    const ConvShape s = shape(images);
    bytes = std::max(
        {bytes, plans.weight_gradient->workspace_bytes(),
         sizeof(float) * bias_gradient_workspace(s.y_size() / s.out_channels, s.out_channels)});
  }
  return bytes;
}

void Conv2D::forward(const Pass& pass, const Bound& b) const {
  const auto& plans = static_cast<const ConvPlans&>(*b.plan);
  const Span<const float> bias = options_.bias ? pass.parameter(bias_) : Span<float>{};
  plans.forward->run(pass.device.cudnn, pass.stream(), b.x, pass.weight(weight_), bias, b.y,
                     b.workspace);
}

void Conv2D::backward(const Pass& pass, const Bound& b) const {
  const auto& plans = static_cast<const ConvPlans&>(*b.plan);
  if (options_.bias)
    b.with_type([&](const auto& t) {
      bias_gradient(pass.stream(), t.dy, pass.gradient(bias_), b.scratch());
    });
  plans.weight_gradient->run(pass.device.cudnn, pass.stream(), b.x, b.dy, {},
                             pass.gradient(weight_), b.workspace);
  if (!b.dx.empty())
    plans.data_gradient->run(pass.device.cudnn, pass.stream(), b.dy, pass.weight(weight_), {}, b.dx,
                             b.workspace);
}

}  // namespace annulus
