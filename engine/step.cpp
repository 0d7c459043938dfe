// The step. Read run() and what it calls, top to bottom; engine/step_set_up made all that it needs.
#include "engine/step.h"

#include <algorithm>

#include "kernels/batchnorm.h"
#include "kernels/divergence.h"
#include "kernels/softmax_xent.h"

namespace annulus {

void TrainStep::run(std::uint32_t epoch, std::size_t step, float learning_rate, StepParts parts) {
  const std::size_t slot = queued_++ % kInFlight, samples = batches_.count(step);
  collect(slot);
  states_[slot] = {.seed = options_.seed,
                   .step = static_cast<std::uint32_t>(updates_),
                   .epoch = epoch,
                   .first_sample = static_cast<std::uint32_t>(batches_.first_sample(step)),
                   .learning_rate = learning_rate};
  requests_[slot] = options_.requests ? options_.requests() : Requests{};

  Flight& flight = flights_[slot];
  graphs_.run({.samples = samples, .parts = parts}, slot, updates_, flight.stamps,
              [&] { queue(flight, step, parts); });

  flight.done.record(device_.compute);
  flight.epoch = epoch;
  flight.step = step;
  flight.update = updates_;
  flight.samples = parts.communicate ? samples : own_samples(step);
  flight.pending = true;
  if (parts.update) ++updates_;
}

// The device's share. It is captured: what differs between steps of one shape comes from the slot's
// pinned memory, by way of the device's.
void TrainStep::queue(Flight& flight, std::size_t step, StepParts parts) {
  const GradientLayout& layout = model_.layout();
  const Stream& compute = device_.compute;
  const std::size_t samples = batches_.count(step);
  exchange_.images = samples;
  std::size_t next_bucket = 0;
  const auto reduce_finished = [&](std::size_t floats) {
    while (next_bucket < buckets().size() && buckets()[next_bucket].end <= floats)
      reduce_and_update(flight, next_bucket++, parts);
  };
  CUDA_CHECK(cudaMemcpyAsync(state_.span().data, &states_[slot_of(flight)], sizeof(StepState),
                             cudaMemcpyHostToDevice, compute.get()));
  flight.stamps.begin(compute);
  const AnyInput weights = rounded_weights_.of(weights_.parameters.cspan(), compute.get());

  for (int v = 0; parts.compute && v < virtual_ranks(); ++v) {
    const RankSlice slice = batches_.slice(step, rank_ * virtual_ranks() + v);
    const Span<float> gradients = micro_batch_gradients(v);
    const bool last = v + 1 == virtual_ranks();
    const Plan::Finished finished = [&](std::size_t floats) {
      if (last) reduce_finished(layout.head() + floats);
    };
    Pass pass = this->pass(slice, samples, weights, gradients);
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
                 loss_workspace_.span(), loss_scale_.cspan());
    plan.backward(pass, finished);
  }
  reduce_finished(layout.size());
  order(device_.update, compute);  // the next forward pass reads what the last update wrote
}

// What a step without communication has seen.
std::size_t TrainStep::own_samples(std::size_t step) const {
  std::size_t count = 0;
  for (int v = 0; v < virtual_ranks(); ++v)
    count += batches_.slice(step, rank_ * virtual_ranks() + v).count;
  return count;
}

Pass TrainStep::pass(const RankSlice& slice, std::size_t samples, AnyInput weights,
                     Span<float> gradients) const {
  const GradientLayout& layout = model_.layout();
  return {.device = device_,
          .parameters = weights_.parameters.span(),
          .weights = weights,
          .gradients = gradients.subspan(layout.head(), layout.parameters),
          .statistics = gradients.subspan(layout.kStatistics, layout.statistics),
          .running = weights_.running.cspan(),
          .state = state_.cspan(),
          .first_position = slice.first_position,
          .weight_of_images = float(slice.count) / float(samples),
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
  const std::size_t stride = model_.layout().size();
  if (parts.compute && virtual_ranks() > 1)
    sum_ranks(device_.compute.get(), options_.sum_order, virtual_ranks(), stride,
              gradients_.cspan().subspan(bucket.begin, gradients_.size() - bucket.begin), sum);
  if (b == 0) write_requests(slot_of(flight));
  flight.stamps.ready(b, device_.compute);

  order(device_.compute, device_.communication);
  flight.stamps.started(b, device_.communication);
  if (parts.communicate && options_.communicator) sum_over_ranks(sum, b);
  flight.stamps.ended(b, device_.communication);

  order(device_.communication, device_.update);
  flight.stamps.update_begins(b, device_.update);
  if (b == 0) read_head(slot_of(flight), parts);
  if (parts.update && parts.compute) update(b);
  if (b + 1 == buckets().size()) read_loss_scale(slot_of(flight));
  flight.stamps.update_ends(b, device_.update);
}

// A bucket's parameters, as soon as its gradients are there. Where the loss is scaled all of them
// wait for the last bucket: only then it is known that none of the gradients overflowed.
void TrainStep::update(std::size_t b) {
  const GradientLayout& layout = model_.layout();
  const cudaStream_t stream = device_.update.get();
  const Span<float> gradients = sum_.span().subspan(layout.head(), layout.parameters);
  const auto apply = [&](const Slice& slice) {
    optimizer_.update(stream, state_.cspan(), slice, halts_.cspan(), weights_.parameters.span(),
                      gradients);
  };
  const std::size_t begin = std::max(buckets()[b].begin, layout.head()) - layout.head();
  const Slice bucket{begin, buckets()[b].end - layout.head() - begin};
  if (!scales_loss()) return apply(bucket);
  unscale_gradients(stream, loss_scale_.cspan(), gradients.subspan(bucket.offset, bucket.size),
                    overflow());
  if (b + 1 < buckets().size()) return;
  apply({0, layout.parameters});
  update_loss_scale(stream, loss_scale_.span(), overflow());
}

// What is queued on `then` from now on runs behind all that is on `first`.
void TrainStep::order(const Stream& first, const Stream& then) const {
  order_.record(first);
  then.wait(order_);
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
    latch_divergence(device_.update.get(), sum_.cspan().subspan(layout.kLoss, 1),
                     halts_.span().subspan(0, 1));
  if (updates && layout.statistics)
    update_running_statistics(device_.update.get(), diverged(),
                              sum_.cspan().subspan(layout.kStatistics, layout.statistics),
                              options_.batchnorm_momentum, weights_.running.span());
  CUDA_CHECK(cudaMemcpyAsync(&heads_[slot], sum_.cspan().data + layout.kLoss, sizeof(Head),
                             cudaMemcpyDeviceToHost, device_.update.get()));
}

void TrainStep::read_loss_scale(std::size_t slot) {
  if (scales_loss())
    CUDA_CHECK(cudaMemcpyAsync(&scales_[slot], loss_scale_.cspan().data, sizeof(LossScale),
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

// With one micro-batch the gradients are the sum.
Span<float> TrainStep::micro_batch_gradients(int virtual_rank) const {
  if (virtual_ranks() == 1) return sum_.span();
  const std::size_t size = model_.layout().size();
  return gradients_.span().subspan(size * static_cast<std::size_t>(virtual_rank), size);
}

// A collective may never end: another rank may be lost.
void TrainStep::wait(const Event& event) const {
  if (options_.communicator)
    options_.communicator->wait(event);
  else
    event.synchronize();
}

void TrainStep::collect(std::size_t slot) {
  Flight& flight = flights_[slot];
  if (!flight.pending) return;
  wait(flight.done);
  flight.pending = false;
  const double samples = double(flight.samples);
  const Head& head = heads_[slot];
  on_result_({.epoch = flight.epoch,
              .step = flight.step,
              .update = flight.update,
              .samples = flight.samples,
              .loss = head.loss / samples,
              .accuracy = head.hits / samples,
              .requests = head.requests,
              .loss_scale = scales_loss() ? std::optional(scales_[slot]) : std::nullopt},
             flight.stamps.read(flight.update, first_begin_));
}

void TrainStep::finish() {
  for (std::size_t i = 0; i < kInFlight; ++i) collect((queued_ + i) % kInFlight);
}

}  // namespace annulus
