// Counts, from what a layer says of itself.
#include "engine/forecast/calls.h"

namespace annulus::forecast {
namespace {

// Bytes of a layer's arrays for one batch.
class Traffic {
 public:
  Traffic(const Node& node, int images, const Precision& precision)
      : layer_(*node.layer),
        inputs_(node.other < 0 ? 1 : 2),
        images_(images),
        element_(double(precision.bytes())) {
    for (const Parameter* p : node.layer->parameters()) {
      parameters_ += double(p->count()) * element_;
      gradients_ += double(p->count()) * sizeof(float);
    }
  }

  double x() const { return inputs_ * images_ * double(layer_.in().size()) * element_; }
  double y() const { return images_ * double(layer_.out().size()) * element_; }
  double parameters() const { return parameters_; }
  double gradients() const { return gradients_; }

  double forward() const { return x() + parameters_ + y() + kept(); }
  double backward(bool needs_dx) const {
    const double read = y() + (layer_.reads_input_backward() ? x() : 0) + parameters_ + kept();
    return read + gradients_ + (needs_dx ? x() : 0);
  }

 private:
  double kept() const { return double(layer_.kept_bytes(images_)); }

  const Layer& layer_;
  int inputs_, images_;
  double element_, parameters_ = 0, gradients_ = 0;
};

double bytes_of(ConvKind kind, const Traffic& traffic) {
  switch (kind) {
    case ConvKind::weight_gradient:  // and the bias gradient, which reads dy alone
      return traffic.x() + traffic.y() + traffic.gradients();
    case ConvKind::data_gradient:
      return traffic.y() + traffic.parameters() + traffic.x();
    default:
      return traffic.forward();
  }
}

const char* name_of(ConvKind kind) {
  switch (kind) {
    case ConvKind::weight_gradient:
      return "weight gradient";
    case ConvKind::data_gradient:
      return "data gradient";
    default:
      return "forward";
  }
}

void add_layer(std::vector<StepCall>& calls, const Node& node, int images,
               const Precision& precision) {
  const Layer& layer = *node.layer;
  const Traffic traffic(node, images, precision);
  const bool needs_dx = node.input != 0;
  const auto convolutions = layer.convolutions(images, needs_dx);
  for (const ConvCall& call : convolutions)
    calls.push_back(
        {layer.name(), name_of(call.kind), call.shape.flops(), bytes_of(call.kind, traffic), call});
  if (!convolutions.empty()) return;
  const double flops = images * layer.forward_flops();
  StepCall forward{layer.name(), "forward", flops, traffic.forward()};
  StepCall backward{layer.name(), "backward", flops * (needs_dx ? 2 : 1),
                    traffic.backward(needs_dx)};
  if (const auto shape = layer.cudnn_batchnorm(images)) {
    forward.batchnorm = {*shape, BatchNormPass::forward};
    backward.batchnorm = {*shape, BatchNormPass::backward};
  }
  calls.push_back(forward);
  if (!layer.passes_gradient_through()) calls.push_back(backward);
}

}  // namespace

std::vector<StepCall> step_calls(const Model& model, int images, const Precision& precision) {
  const auto element = double(precision.bytes());
  const auto pixels = double(images) * double(model.input().size());
  const double logits = double(images) * model.classes() * element;
  const auto parameters = double(model.parameter_count());
  // Read: weights, gradients, momentum; written: weights, momentum, and the copy that layers read.
  const double update = 5 * sizeof(float) + (precision.bytes() < sizeof(float) ? element : 0);

  std::vector<StepCall> calls = {{"step", "load", 0, pixels * (1 + element)}};
  for (const Node& node : model.nodes()) add_layer(calls, node, images, precision);
  calls.push_back({"step", "loss", 0, 2 * logits});
  calls.push_back({"step", "update", 0, parameters * update});
  return calls;
}

}  // namespace annulus::forecast
