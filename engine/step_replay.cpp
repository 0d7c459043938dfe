// The replay of a step whose loss was not finite: the forward pass again, one layer after another,
// until a number that is not finite shows. Slow and exact: the weights are those before the step.
#include <algorithm>
#include <cmath>

#include "engine/step.h"

namespace annulus {
namespace {

bool finite(AnyInput values) {
  return with_element(values.element, [&]<class T>() {
    std::vector<T> copy(values.size);
    CUDA_CHECK(cudaMemcpy(copy.data(), values.data, values.bytes(), cudaMemcpyDeviceToHost));
    return std::all_of(copy.begin(), copy.end(),
                       [](T value) { return std::isfinite(static_cast<float>(value)); });
  });
}

// Runs all layers whatever it finds: where they exchange numbers, other ranks wait for that.
// `drain` waits for the compute stream.
std::string first_not_finite(const Model& model, const Plan& plan, const Pass& pass,
                             const std::function<void()>& drain) {
  std::string first;
  const auto look = [&](AnyInput values, const std::string& what) {
    if (first.empty() && !finite(values)) first = what;
  };
  drain();
  look(plan.input(), "the images");
  for (std::size_t i = 0; i < plan.calls().size(); ++i) {
    Layer& layer = *model.nodes()[i].layer;
    for (const Parameter* parameter : layer.parameters())
      look(Span<const float>(pass.parameter(*parameter)), parameter->name);
    layer.forward(pass, plan.calls()[i].bound);
    drain();
    look(plan.calls()[i].bound.y, "the output of layer " + layer.name());
  }
  return first;
}

}  // namespace

std::string TrainStep::find_not_finite(const StepResult& result) {
  state_.upload({{.seed = options_.seed,
                  .step = static_cast<std::uint32_t>(result.update),
                  .epoch = result.epoch,
                  .first_sample = static_cast<std::uint32_t>(batches_.first_sample(result.step)),
                  .learning_rate = 0}});
  exchange_.images = batches_.count(result.step);
  const auto drain = [this] {
    order_.record(device_.compute);
    wait(order_);
  };
  const AnyInput weights = rounded_weights_.of(weights_.parameters.cspan(), device_.compute.get());
  for (int v = 0; v < virtual_ranks(); ++v) {
    const RankSlice slice = batches_.slice(result.step, rank_ * virtual_ranks() + v);
    const Pass pass = this->pass(slice, exchange_.images, weights, micro_batch_gradients(v));
    if (slice.count == 0) {
      if (pass.exchange)
        for (const Node& node : model_.nodes()) node.layer->forward_without_images(pass);
      continue;
    }
    const Plan& plan = plans_.at(slice.count);
    data_.load(pass.stream(), pass.state, slice.first_position, options_.augmentation, plan.input(),
               labels_.span().subspan(0, slice.count));
    if (std::string found = first_not_finite(model_, plan, pass, drain); !found.empty())
      return found;
  }
  return "";
}

}  // namespace annulus
