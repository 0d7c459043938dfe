// The step. Read run(), top to bottom; the rest is set-up.
#include "engine/step.h"

#include <algorithm>
#include <set>

#include "kernels/batchnorm.h"
#include "kernels/divergence.h"
#include "kernels/softmax_xent.h"

namespace annulus {

void TrainStep::run(std::uint32_t epoch, std::size_t step, float learning_rate, StepParts parts) {
  const GradientLayout& layout = model_.layout();
  const Stream& compute = device_.compute;
  const std::size_t slot = queued_++ % kInFlight;
  collect(slot);
  Flight& flight = flights_[slot];

  states_[slot] = {.seed = options_.seed,
                   .step = static_cast<std::uint32_t>(updates_),
                   .epoch = epoch,
                   .first_sample = static_cast<std::uint32_t>(batches_.first_sample(step)),
                   .learning_rate = learning_rate};
  CUDA_CHECK(cudaMemcpyAsync(state_.span().data, &states_[slot], sizeof(StepState),
                             cudaMemcpyHostToDevice, compute.get()));
  requests_[slot] = options_.requests ? options_.requests() : Requests{};
  const std::size_t samples = batches_.count(step);
  exchange_.images = samples;
  std::size_t next_bucket = 0;
  const auto reduce_finished = [&](std::size_t floats) {
    while (next_bucket < buckets().size() && buckets()[next_bucket].end <= floats)
      reduce_and_update(flight, next_bucket++, parts);
  };
  flight.stamps.begin(compute);

  for (int v = 0; parts.compute && v < virtual_ranks(); ++v) {
    const RankSlice slice = batches_.slice(step, rank_ * virtual_ranks() + v);
    const Span<float> gradients = micro_batch_gradients(v);
    const bool last = v + 1 == virtual_ranks();
    const Plan::Finished finished = [&](std::size_t floats) {
      if (last) reduce_finished(layout.head() + floats);
    };
    Pass pass = this->pass(slice, samples, gradients);
    if (last) pass.stamps = &flight.stamps;
    if (slice.count == 0) {
      run_without_images(pass, gradients, finished);
      continue;
    }
    const Plan& plan = plans_.at(slice.count);
    const Span<std::int32_t> labels = labels_.span().subspan(0, slice.count);

    data_.load(compute.get(), pass.state, slice.first_position, options_.augmentation, plan.input(),
               labels);
    plan.forward(pass);
    softmax_xent(compute.get(), model_.classes(), plan.logits(), labels, options_.label_smoothing,
                 1.f / float(samples), plan.logits(), gradients.subspan(layout.kLoss, 2),
                 loss_workspace_.span());
    plan.backward(pass, finished);
  }
  reduce_finished(layout.size());

  compute.wait(flight.stamps.done());  // the next forward pass reads what the last update wrote
  flight.epoch = epoch;
  flight.step = step;
  flight.update = updates_;
  flight.samples = parts.communicate ? samples : own_samples(step);
  flight.pending = true;
  if (parts.update) ++updates_;
}

// What a step without communication has seen.
std::size_t TrainStep::own_samples(std::size_t step) const {
  std::size_t count = 0;
  for (int v = 0; v < virtual_ranks(); ++v)
    count += batches_.slice(step, rank_ * virtual_ranks() + v).count;
  return count;
}

Pass TrainStep::pass(const RankSlice& slice, std::size_t samples, Span<float> gradients) const {
  const GradientLayout& layout = model_.layout();
  return {.device = device_,
          .parameters = weights_.parameters.span(),
          .gradients = gradients.subspan(layout.head(), layout.parameters),
          .statistics = gradients.subspan(layout.kStatistics, layout.statistics),
          .running = weights_.running.cspan(),
          .state = state_.cspan(),
          .first_position = slice.first_position,
          .weight = float(slice.count) / float(samples),
          .exchange = options_.sync_batchnorm ? &exchange_ : nullptr};
}

// A short last batch may leave a rank without samples. It adds zeros, and is there for every
// exchange, in the order in which the others make theirs.
void TrainStep::run_without_images(const Pass& pass, Span<float> gradients,
                                   const Plan::Finished& finished) const {
  CUDA_CHECK(cudaMemsetAsync(gradients.data, 0, gradients.bytes(), pass.stream()));
  if (pass.exchange)
    for (const Node& node : model_.nodes()) node.layer->forward_without_images(pass);
  for (std::size_t i = model_.nodes().size(); i-- > 0;) {
    if (pass.exchange) model_.nodes()[i].layer->backward_without_images(pass);
    finished(model_.gradients_finished(i));
  }
}

// A bucket whose gradients are final: summed over this device's virtual ranks, then over the ranks,
// then applied, each on its own stream while the backward pass goes on.
void TrainStep::reduce_and_update(Flight& flight, std::size_t b, StepParts parts) {
  const Bucket& bucket = buckets()[b];
  const Span<float> sum = sum_.span().subspan(bucket.begin, bucket.size());
  const std::size_t stride = model_.layout().size(), head = model_.layout().head();
  if (parts.compute && virtual_ranks() > 1)
    sum_ranks(device_.compute.get(), options_.sum_order, virtual_ranks(), stride,
              gradients_.cspan().subspan(bucket.begin, gradients_.size() - bucket.begin), sum);
  const auto slot = static_cast<std::size_t>(&flight - flights_.data());
  if (b == 0) write_requests(slot);
  flight.stamps.ready(b, device_.compute);

  flight.stamps.started(b, device_.communication);
  if (parts.communicate && options_.communicator) sum_over_ranks(sum, b);
  flight.stamps.ended(b, device_.communication);

  flight.stamps.update_begins(b, device_.update);
  if (b == 0) read_head(slot, parts);
  if (parts.update && parts.compute) {
    const std::size_t begin = std::max(bucket.begin, head) - head;
    optimizer_.update(device_.update.get(), state_.cspan(), {begin, bucket.end - head - begin},
                      diverged_.cspan(), weights_.parameters.span(),
                      sum_.cspan().subspan(head, model_.layout().parameters));
  }
  flight.stamps.update_ends(b, device_.update);
}

void TrainStep::write_requests(std::size_t slot) {
  CUDA_CHECK(cudaMemcpyAsync(sum_.span().data + model_.layout().kRequests, &requests_[slot],
                             sizeof(Requests), cudaMemcpyHostToDevice, device_.compute.get()));
}

// The head is in the first bucket: the step's results, and BatchNorm's statistics of all ranks.
void TrainStep::read_head(std::size_t slot, StepParts parts) {
  const GradientLayout& layout = model_.layout();
  const bool updates = parts.update && parts.compute;
  if (updates)
    latch_divergence(device_.update.get(), sum_.cspan().subspan(layout.kLoss, 1), diverged_.span());
  if (updates && layout.statistics)
    update_running_statistics(device_.update.get(), diverged_.cspan(),
                              sum_.cspan().subspan(layout.kStatistics, layout.statistics),
                              options_.batchnorm_momentum, weights_.running.span());
  CUDA_CHECK(cudaMemcpyAsync(&heads_[slot], sum_.cspan().data + layout.kLoss, sizeof(Head),
                             cudaMemcpyDeviceToHost, device_.update.get()));
}

// In 16 bits if so asked; but losses, hits and statistics, at the head, travel in fp32.
void TrainStep::sum_over_ranks(Span<float> values, std::size_t bucket) {
  const Stream& stream = device_.communication;
  const Phase phase{.name = "step", .step = updates_ + 1, .bucket = static_cast<int>(bucket)};
  const std::size_t head = bucket == 0 ? model_.layout().head() : 0;
  const std::size_t exact = options_.wire == WireType::fp32 ? values.size : head;
  if (exact) options_.communicator->all_reduce(values.subspan(0, exact), stream, phase);
  if (exact < values.size)
    options_.communicator->all_reduce_rounded(values.subspan(exact, values.size - exact),
                                              options_.wire, wire_.span(), stream, phase);
}

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
      gradients_(std::vector<float>(
          virtual_ranks() > 1 ? model.layout().size() * virtual_ranks() : 0, 0.f)),
      sum_(std::vector<float>(model.layout().size(), 0.f)),
      wire_(options.wire == WireType::fp32 ? 0 : model.layout().size()),
      labels_(options.batches.batch_per_rank),
      loss_workspace_(softmax_xent_workspace(options.batches.batch_per_rank)),
      state_(1),
      states_(kInFlight),
      requests_(kInFlight),
      heads_(kInFlight),
      diverged_(std::vector<std::uint32_t>{0}),
      updates_(options.updates) {
  if (options_.buckets.empty()) options_.buckets = {{0, model.layout().size()}};
  for (std::size_t i = 0; i < kInFlight; ++i)
    flights_.push_back({.stamps = StepStamps(2 * model.nodes().size(), buckets().size())});
  first_begin_.record(device.compute);
  if (options_.sync_batchnorm) prepare_exchange();
  make_plans();
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

  std::size_t floats = 0, bytes = 0;
  for (const std::uint32_t images : sizes) {
    const auto [plan, _] =
        plans_.try_emplace(images, model_, device_, static_cast<int>(images), PlanKind::training);
    floats = std::max(floats, plan->second.activation_floats());
    bytes = std::max(bytes, plan->second.workspace_bytes());
  }
  activations_ = Buffer<float>(floats);
  workspace_ = Buffer<std::byte>(bytes);
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

// With one micro-batch the gradients are the sum.
Span<float> TrainStep::micro_batch_gradients(int virtual_rank) const {
  if (virtual_ranks() == 1) return sum_.span();
  const std::size_t size = model_.layout().size();
  return gradients_.span().subspan(size * static_cast<std::size_t>(virtual_rank), size);
}

void TrainStep::collect(std::size_t slot) {
  Flight& flight = flights_[slot];
  if (!flight.pending) return;
  if (options_.communicator)
    options_.communicator->wait(flight.stamps.done());
  else
    flight.stamps.done().synchronize();
  flight.pending = false;
  const double samples = double(flight.samples);
  const Head& head = heads_[slot];
  on_result_({.epoch = flight.epoch,
              .step = flight.step,
              .update = flight.update,
              .samples = flight.samples,
              .loss = head.loss / samples,
              .accuracy = head.hits / samples,
              .requests = head.requests},
             flight.stamps.read(flight.update, first_begin_));
}

void TrainStep::finish() {
  for (std::size_t i = 0; i < kInFlight; ++i) collect((queued_ + i) % kInFlight);
}

}  // namespace annulus
