// The step. Read run(), top to bottom; the rest is set-up.
#include "engine/step.h"

#include <algorithm>
#include <set>

#include "kernels/batchnorm.h"
#include "kernels/softmax_xent.h"

namespace annulus {

void TrainStep::run(std::uint32_t epoch, std::size_t step, float learning_rate) {
  const GradientLayout& layout = model_.layout();
  const cudaStream_t stream = device_.compute.get();
  const std::size_t slot = updates_ % kInFlight;
  collect(slot);

  states_[slot] = {.seed = options_.seed,
                   .step = static_cast<std::uint32_t>(updates_),
                   .epoch = epoch,
                   .first_sample = static_cast<std::uint32_t>(options_.batches.first_sample(step)),
                   .learning_rate = learning_rate};
  CUDA_CHECK(cudaMemcpyAsync(state_.span().data, &states_[slot], sizeof(StepState),
                             cudaMemcpyHostToDevice, stream));
  const std::size_t samples = options_.batches.count(step);

  for (int rank = 0; rank < options_.batches.ranks; ++rank) {
    const RankSlice slice = options_.batches.slice(step, rank);
    const Span<float> gradients = rank_gradients(rank);
    if (slice.count == 0) {  // a rank without samples adds zeros
      CUDA_CHECK(cudaMemsetAsync(gradients.data, 0, gradients.bytes(), stream));
      continue;
    }
    const Plan& plan = plans_.at(slice.count);
    const Pass pass{.device = device_,
                    .parameters = weights_.parameters.span(),
                    .gradients = gradients.subspan(layout.head(), layout.parameters),
                    .statistics = gradients.subspan(layout.kStatistics, layout.statistics),
                    .running = weights_.running.cspan(),
                    .state = state_.cspan(),
                    .first_position = slice.first_position,
                    .weight = float(slice.count) / float(samples)};
    const Span<std::int32_t> labels = labels_.span().subspan(0, slice.count);

    data_.load(stream, pass.state, slice.first_position, options_.augmentation, plan.input(),
               labels);
    plan.forward(pass);
    softmax_xent(stream, model_.classes(), plan.logits(), labels, options_.label_smoothing,
                 1.f / float(samples), plan.logits(), gradients.subspan(layout.kLoss, 2),
                 loss_workspace_.span());
    plan.backward(pass);
  }

  if (options_.batches.ranks > 1)
    sum_ranks(stream, options_.sum_order, options_.batches.ranks, gradients_.cspan(), sum_.span());
  const Span<const float> reduced = reduced_gradients();
  optimizer_.update(device_, state_.cspan(), {0, layout.parameters}, weights_.parameters.span(),
                    reduced.subspan(layout.head(), layout.parameters));
  if (layout.statistics)
    update_running_statistics(stream, reduced.subspan(layout.kStatistics, layout.statistics),
                              options_.batchnorm_momentum, weights_.running.span());

  CUDA_CHECK(cudaMemcpyAsync(&results_[2 * slot], reduced.data + layout.kLoss, 2 * sizeof(float),
                             cudaMemcpyDeviceToHost, stream));
  Flight& flight = flights_[slot];
  flight.done.record(device_.compute);
  flight.update = updates_++;
  flight.samples = samples;
  flight.pending = true;
}

TrainStep::TrainStep(const Model& model, const Device& device, const ResidentData& data,
                     const StepOptions& options, Weights& weights, Optimizer& optimizer,
                     OnResult on_result)
    : model_(model),
      device_(device),
      data_(data),
      options_(options),
      weights_(weights),
      optimizer_(optimizer),
      on_result_(std::move(on_result)),
      gradients_(std::vector<float>(model.layout().size() * options.batches.ranks, 0.f)),
      sum_(options.batches.ranks > 1 ? model.layout().size() : 0),
      labels_(options.batches.batch_per_rank),
      loss_workspace_(softmax_xent_workspace(options.batches.batch_per_rank)),
      state_(1),
      states_(kInFlight),
      results_(2 * kInFlight),
      flights_(kInFlight) {
  // A full batch and the short last one need at most three sizes: B, and two that differ by one.
  std::set<std::uint32_t> sizes;
  for (const std::size_t step : {std::size_t{0}, options_.batches.steps() - 1})
    for (int rank = 0; rank < options_.batches.ranks; ++rank)
      sizes.insert(options_.batches.slice(step, rank).count);
  sizes.erase(0);

  std::size_t floats = 0, bytes = 0;
  for (const std::uint32_t images : sizes) {
    const auto [plan, _] =
        plans_.try_emplace(images, model, device, static_cast<int>(images), PlanKind::training);
    floats = std::max(floats, plan->second.activation_floats());
    bytes = std::max(bytes, plan->second.workspace_bytes());
  }
  activations_ = Buffer<float>(floats);
  workspace_ = Buffer<std::byte>(bytes);
  for (auto& [_, plan] : plans_) plan.bind(activations_.span(), workspace_.span());
}

Span<float> TrainStep::rank_gradients(int rank) const {
  const std::size_t size = model_.layout().size();
  return gradients_.span().subspan(size * static_cast<std::size_t>(rank), size);
}

Span<const float> TrainStep::reduced_gradients() const {
  return options_.batches.ranks > 1 ? sum_.cspan() : gradients_.cspan();
}

void TrainStep::collect(std::size_t slot) {
  Flight& flight = flights_[slot];
  if (!flight.pending) return;
  flight.done.synchronize();
  flight.pending = false;
  const double samples = double(flight.samples);
  on_result_({.update = flight.update,
              .samples = flight.samples,
              .loss = results_[2 * slot] / samples,
              .accuracy = results_[2 * slot + 1] / samples});
}

void TrainStep::finish() {
  for (std::size_t i = 0; i < kInFlight; ++i) collect((updates_ + i) % kInFlight);
}

}  // namespace annulus
