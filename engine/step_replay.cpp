// The replay of a step whose loss was not finite: the forward pass again, one layer after another,
// until a number that is not finite shows. Slow and exact: the weights are those before the step.
#include <algorithm>
#include <cmath>

#include "engine/step.h"

namespace annulus {
namespace {

bool finite(Span<const float> values) {
  std::vector<float> copy(values.size);
  CUDA_CHECK(cudaMemcpy(copy.data(), values.data, values.bytes(), cudaMemcpyDeviceToHost));
  return std::all_of(copy.begin(), copy.end(), [](float value) { return std::isfinite(value); });
}

// Runs all layers whatever it finds: where they exchange numbers, other ranks wait for that.
std::string first_not_finite(const Model& model, const Plan& plan, const Pass& pass) {
  std::string first;
  const auto look = [&](Span<const float> values, const std::string& what) {
    if (first.empty() && !finite(values)) first = what;
  };
  pass.device.compute.synchronize();
  look(plan.input(), "the images");
  for (std::size_t i = 0; i < plan.calls().size(); ++i) {
    Layer& layer = *model.nodes()[i].layer;
    for (const Parameter* parameter : layer.parameters())
      look(pass.parameter(*parameter), parameter->name);
    layer.forward(pass, plan.calls()[i].bound);
    pass.device.compute.synchronize();
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
  for (int v = 0; v < virtual_ranks(); ++v) {
    const RankSlice slice = batches_.slice(result.step, rank_ * virtual_ranks() + v);
    const Pass pass = this->pass(slice, exchange_.images, micro_batch_gradients(v));
    if (slice.count == 0) {
      if (pass.exchange)
        for (const Node& node : model_.nodes()) node.layer->forward_without_images(pass);
      continue;
    }
    const Plan& plan = plans_.at(slice.count);
    data_.load(pass.stream(), pass.state, slice.first_position, options_.augmentation, plan.input(),
               labels_.span().subspan(0, slice.count));
    if (std::string found = first_not_finite(model_, plan, pass); !found.empty()) return found;
  }
  return "";
}

}  // namespace annulus
