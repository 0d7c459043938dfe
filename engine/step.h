// One training step: load, forward, loss, backward, sum over ranks, update, record. TrainStep::run
// is the function to read first. Everything it needs is made in the constructor; run allocates
// nothing and waits for nothing but the results of a few steps ago. Called by engine/trainer.
#pragma once

#include <functional>
#include <map>

#include "data/sampler.h"
#include "engine/optimizer.h"
#include "engine/plan.h"
#include "engine/resident_data.h"
#include "engine/weights.h"
#include "kernels/sum_ranks.h"

namespace annulus {

struct StepOptions {
  Batches batches{};  // ranks here means virtual ranks: this process does the work of all of them
  SumOrder sum_order = SumOrder::rank;
  std::uint64_t seed = 1;
  float label_smoothing = 0;
  float batchnorm_momentum = 0.1f;
  Augmentation augmentation;
};

struct StepResult {
  std::size_t update = 0;   // from 0
  std::size_t samples = 0;  // in the global batch
  double loss = 0;          // mean over the samples
  double accuracy = 0;
};

class TrainStep {
 public:
  using OnResult = std::function<void(const StepResult&)>;

  TrainStep(const Model& model, const Device& device, const ResidentData& data,
            const StepOptions& options, Weights& weights, Optimizer& optimizer, OnResult on_result);

  // Queues step `step` of epoch `epoch` and hands results that have arrived to on_result, in order.
  void run(std::uint32_t epoch, std::size_t step, float learning_rate);

  // Waits for all steps and hands over their results.
  void finish();

  std::size_t updates() const { return updates_; }
  Span<const float> reduced_gradients() const;  // of the last step, in GradientLayout

 private:
  static constexpr std::size_t kInFlight = 4;  // steps queued ahead of the device

  // One step on its way: what the host wrote for it and what comes back.
  struct Flight {
    Event done;
    std::size_t update = 0, samples = 0;
    bool pending = false;
  };

  Span<float> rank_gradients(int rank) const;
  void collect(std::size_t slot);

  const Model& model_;
  const Device& device_;
  const ResidentData& data_;
  StepOptions options_;
  Weights& weights_;
  Optimizer& optimizer_;
  OnResult on_result_;

  std::map<std::uint32_t, Plan> plans_;  // by number of images
  Buffer<float> activations_;
  Buffer<std::byte> workspace_;
  Buffer<float> gradients_;  // [virtual ranks, GradientLayout]
  Buffer<float> sum_;        // [GradientLayout], unused with one rank
  Buffer<std::int32_t> labels_;
  Buffer<float> loss_workspace_;
  Buffer<StepState> state_;
  PinnedBuffer<StepState> states_;  // [kInFlight]
  PinnedBuffer<float> results_;     // [kInFlight, 2]: loss sum, hits
  std::vector<Flight> flights_;
  std::size_t updates_ = 0;
};

}  // namespace annulus
