// One training step: load, forward, loss, backward, and behind it, bucket by bucket, sum over ranks
// and update. TrainStep::run and reduce_and_update are the functions to read first, and the only
// ones in which compute and communication meet. Everything they need is made in the constructor;
// they allocate nothing and wait for nothing but the results of a few steps ago. Called by
// engine/trainer.
#pragma once

#include <functional>
#include <map>

#include "comm/buckets.h"
#include "comm/communicator.h"
#include "data/sampler.h"
#include "engine/optimizer.h"
#include "engine/plan.h"
#include "engine/resident_data.h"
#include "engine/step_stamps.h"
#include "engine/weights.h"
#include "kernels/sum_ranks.h"

namespace annulus {

struct StepOptions {
  Batches batches{};                     // its ranks: the world size, virtual ranks included
  Communicator* communicator = nullptr;  // to the other ranks; null: there are none
  std::vector<Bucket> buckets;           // of the gradient buffer; empty: one
  WireType wire = WireType::fp32;
  bool sync_batchnorm = false;          // statistics over all ranks' images; needs one virtual rank
  SumOrder sum_order = SumOrder::rank;  // of virtual ranks
  std::uint64_t seed = 1;
  float label_smoothing = 0;
  float batchnorm_momentum = 0.1f;
  Augmentation augmentation;
};

// Which halves of the step are done; all but measurements do all.
struct StepParts {
  bool compute = true, communicate = true, update = true;
};

struct StepResult {
  std::size_t update = 0;   // from 0
  std::size_t samples = 0;  // in the global batch
  double loss = 0;          // mean over the samples
  double accuracy = 0;
};

class TrainStep {
 public:
  using OnResult = std::function<void(const StepResult&, const StepTimes&)>;

  TrainStep(const Model& model, const Device& device, const ResidentData& data,
            const StepOptions& options, Weights& weights, Optimizer& optimizer, OnResult on_result);

  // Queues step `step` of epoch `epoch` and hands results that have arrived to on_result, in order.
  // Throws PeerError when another rank is lost.
  void run(std::uint32_t epoch, std::size_t step, float learning_rate, StepParts parts = {});

  // Waits for all steps and hands over their results.
  void finish();

  std::size_t updates() const { return updates_; }
  const std::vector<Bucket>& buckets() const { return options_.buckets; }
  Span<const float> reduced_gradients() const { return sum_.cspan(); }  // of the last step

 private:
  static constexpr std::size_t kInFlight = 4;  // steps queued ahead of the device

  // One step on its way: its stamps, and what the host wrote for it and will read from it.
  struct Flight {
    StepStamps stamps;
    std::size_t update = 0, samples = 0;
    bool pending = false;
  };

  int virtual_ranks() const { return options_.batches.ranks / world_; }
  Span<float> micro_batch_gradients(int virtual_rank) const;
  void reduce_and_update(Flight& flight, std::size_t bucket, StepParts parts);
  void run_without_images(const Pass& pass, Span<float> gradients,
                          const Plan::Finished& finished) const;
  void prepare_exchange();
  std::size_t own_samples(std::size_t step) const;
  void sum_over_ranks(Span<float> values, std::size_t bucket);
  void read_head(std::size_t slot, StepParts parts);
  void collect(std::size_t slot);

  const Model& model_;
  const Device& device_;
  const ResidentData& data_;
  StepOptions options_;
  int rank_ = 0, world_ = 1;  // processes
  Weights& weights_;
  Optimizer& optimizer_;
  OnResult on_result_;

  std::map<std::uint32_t, Plan> plans_;  // by number of images
  Buffer<float> activations_;
  Buffer<std::byte> workspace_;
  Buffer<float> gradients_;     // [virtual ranks, GradientLayout]; with one, unused: it writes sum_
  Buffer<float> sum_;           // [GradientLayout]: what is reduced and applied
  Buffer<std::uint16_t> wire_;  // [GradientLayout] where 16 bits travel
  Buffer<float> exchanged_;     // what layers of all ranks tell each other within a pass
  RankExchange exchange_;
  Buffer<std::int32_t> labels_;
  Buffer<float> loss_workspace_;
  Buffer<StepState> state_;
  PinnedBuffer<StepState> states_;  // [kInFlight]
  PinnedBuffer<float> results_;     // [kInFlight, 2]: loss sum, hits
  std::vector<Flight> flights_;
  Event first_begin_{true};
  std::size_t queued_ = 0, updates_ = 0;
};

}  // namespace annulus
