// What a TrainStep needs, made before its first step: buffers, a plan for each number of images,
// the exchange between ranks, the seed of cuDNN's dropout.
#include <algorithm>
#include <set>

#include "engine/step.h"
#include "kernels/philox.h"
#include "kernels/softmax_xent.h"

namespace annulus {
namespace {

Buffer<LossScale> loss_scale_of(const StepOptions& options) {
  if (options.precision.element != Element::fp16) return {};
  return Buffer<LossScale>(std::vector<LossScale>{options.loss_scale});
}

}  // namespace

TrainStep::TrainStep(const Model& model, const Device& device, const ResidentData& data,
                     const StepOptions& options, Weights& weights, Optimizer& optimizer,
                     OnResult on_result)
    : model_(model),
      device_(device),
      data_(data),
      options_(options),
      batches_(options.first_epoch.value_or(options.batches)),
      rank_(options.communicator ? options.communicator->rank() : 0),
      world_(options.communicator ? options.communicator->world() : 1),
      weights_(weights),
      optimizer_(optimizer),
      on_result_(std::move(on_result)),
      rounded_weights_(options.precision, model.layout().parameters),
      gradients_(std::vector<float>(
          virtual_ranks() > 1 ? model.layout().size() * virtual_ranks() : 0, 0.f)),
      sum_(model.layout().size(), options.communicator),
      wire_(options.wire == WireType::fp32 ? 0 : model.layout().size(), options.communicator),
      labels_(options.batches.batch_per_rank),
      loss_workspace_(softmax_xent_workspace(options.batches.batch_per_rank)),
      state_(1),
      states_(kInFlight),
      requests_(kInFlight),
      heads_(kInFlight),
      loss_scale_(loss_scale_of(options)),
      scales_(kInFlight),
      halts_(std::vector<std::uint32_t>(1 + loss_scale_.size(), 0)),
      graphs_(options.graph, device.compute, options.communicator),
      updates_(options.updates) {
  if (options_.buckets.empty()) options_.buckets = {{0, model.layout().size()}};
  for (std::size_t i = 0; i < kInFlight; ++i)
    flights_.push_back({.stamps = StepStamps(2 * model.nodes().size(), buckets().size())});
  first_begin_.record(device.compute);
  if (options_.sync_batchnorm) prepare_exchange();
  make_plans();
  seed_dropout();
}

void TrainStep::seed_dropout() const {
  const Uint4 bits =
      philox(options_.seed, static_cast<std::uint32_t>(Purpose::dropout_states),
             static_cast<std::uint32_t>(updates_), static_cast<std::uint32_t>(rank_), 0);
  device_.dropout_states.seed(device_.cudnn, device_.compute.get(),
                              std::uint64_t{bits.x} << 32 | bits.y);
}

// A full batch and the short last one of an epoch need at most three sizes: B, and two that differ
// by one.
void TrainStep::make_plans() {
  std::set<std::uint32_t> sizes;
  for (const Batches& batches : {options_.batches, batches_})
    for (const std::size_t step : {std::size_t{0}, batches.steps() - 1})
      for (int rank = rank_ * virtual_ranks(); rank < (rank_ + 1) * virtual_ranks(); ++rank)
        if (batches.steps()) sizes.insert(batches.slice(step, rank).count);
  sizes.erase(0);

  std::size_t activations = 0, workspace = 0;  // bytes
  for (const std::uint32_t images : sizes) {
    const auto [plan, _] = plans_.try_emplace(images, model_, device_, static_cast<int>(images),
                                              PlanKind::training, options_.precision);
    activations = std::max(activations, plan->second.activation_bytes());
    workspace = std::max(workspace, plan->second.workspace_bytes());
  }
  activations_ = Buffer<std::byte>(activations);
  workspace_ = Buffer<std::byte>(workspace);
  for (auto& [_, plan] : plans_) plan.bind(activations_.span(), workspace_.span());
}

void TrainStep::prepare_exchange() {
  std::size_t floats = 0;
  for (const Node& node : model_.nodes())
    floats = std::max(floats, node.layer->exchange_floats(world_));
  exchanged_ = Buffer<float>(std::vector<float>(floats, 0.f));
  exchange_ = {.rank = rank_,
               .ranks = world_,
               .scratch = exchanged_.span(),
               .sum = [this](Span<float> values) {
                 if (options_.communicator)
                   options_.communicator->all_reduce(values, device_.compute,
                                                     {.name = "step", .step = updates_ + 1});
               }};
}

}  // namespace annulus
