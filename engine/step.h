// One training step: load, forward, loss, backward, and behind it, bucket by bucket, sum over ranks
// and update. TrainStep::run, queue and reduce_and_update are the functions to read first, and the
// only ones in which compute and communication meet. Everything they need is made in the
// constructor; they allocate nothing but graphs and wait for nothing but the results of a few steps
// ago. What queue() queues is captured and launched as one graph (engine/step_graph). From a loss
// that is not finite on, nothing changes any more (kernels/divergence.h), and the step can be
// replayed. In half precisions activations are halves and so are the weights that layers read; what
// is summed over ranks and updated is fp32. fp16 scales its loss (kernels/loss_scale.h): its
// updates wait for the last bucket, as only then it is known that no gradient overflowed. Called by
// engine/trainer.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "comm/buckets.h"
#include "comm/collective_buffer.h"
#include "comm/communicator.h"
#include "data/sampler.h"
#include "engine/optimizer.h"
#include "engine/plan.h"
#include "engine/resident_data.h"
#include "engine/rounded_weights.h"
#include "engine/step_graph.h"
#include "engine/step_stamps.h"
#include "engine/weights.h"
#include "kernels/loss_scale.h"
#include "kernels/sum_ranks.h"

namespace annulus {

// What single ranks ask of all, summed over ranks with every step's first bucket, so that all learn
// of it with the result of one and the same step.
struct Requests {
  float interrupt = 0, terminate = 0;  // ranks that were sent SIGINT, SIGTERM
  float checkpoint = 0;
};

struct StepOptions {
  Batches batches{};  // of an epoch; its ranks: the world size, virtual ranks included
  std::optional<Batches> first_epoch;    // where the first one is cut in another way
  Communicator* communicator = nullptr;  // to the other ranks; null: there are none
  std::vector<Bucket> buckets;           // of the gradient buffer; empty: one
  WireType wire = WireType::fp32;
  Precision precision = kFp32;
  LossScale loss_scale = kInitialLossScale;  // of fp16: where it begins
  bool sync_batchnorm = false;          // statistics over all ranks' images; needs one virtual rank
  SumOrder sum_order = SumOrder::rank;  // of virtual ranks
  std::uint64_t seed = 1;
  float label_smoothing = 0;
  float batchnorm_momentum = 0.1f;
  Augmentation augmentation;
  std::size_t updates = 0;             // done before: a resumed run's
  std::function<Requests()> requests;  // this rank's, before each step; null: none
  bool graph = true;                   // launch steps as graphs; the bits are the same without
};

struct StepResult {
  std::uint32_t epoch = 0;
  std::size_t step = 0;     // of the epoch
  std::size_t update = 0;   // from 0
  std::size_t samples = 0;  // in the global batch
  double loss = 0;          // mean over the samples
  double accuracy = 0;
  Requests requests;                    // of all ranks
  std::optional<LossScale> loss_scale;  // after the step; where there is one
};

class TrainStep {
 public:
  using OnResult = std::function<void(const StepResult&, const StepTimes&)>;

  TrainStep(const Model& model, const Device& device, const ResidentData& data,
            const StepOptions& options, Weights& weights, Optimizer& optimizer, OnResult on_result);

  // How the following steps' epoch is cut: options.batches or options.first_epoch.
  void cut_epoch(const Batches& batches) { batches_ = batches; }

  // Seeds cuDNN's dropout anew, where the model has it, from the run's seed, the updates done and
  // the rank: at the start of each epoch, so that a run that goes on there draws the same masks.
  void seed_dropout() const;

  // Queues step `step` of epoch `epoch` and hands the result of an earlier one to on_result, if it
  // is kInFlight steps back: on every rank at the same call. Throws PeerError when another rank is
  // lost.
  void run(std::uint32_t epoch, std::size_t step, float learning_rate, StepParts parts = {});

  // Waits for all steps and hands over their results.
  void finish();

  // No step follows: before the communicator is aborted, as NCCL waits for graphs to be gone.
  void drop_graphs() { graphs_.clear(); }

  // After finish(), with the epoch's order still in place: runs a step whose loss was not finite
  // again, layer by layer, and says what on this rank is the first that is not finite; empty where
  // all is. Collective where BatchNorm is synchronised.
  std::string find_not_finite(const StepResult& result);

  std::size_t updates() const { return updates_; }
  const std::vector<Bucket>& buckets() const { return options_.buckets; }
  Span<const float> reduced_gradients() const { return sum_.cspan(); }  // of the last step

 private:
  // What goes back to the host: the begin of the gradient layout's head.
  struct Head {
    float loss, hits;
    Requests requests;
  };

  static constexpr std::size_t kInFlight = 4;  // steps queued ahead of the device

  // One step on its way: its stamps, and what the host wrote for it and will read from it.
  struct Flight {
    StepStamps stamps;
    Event done{};
    std::uint32_t epoch = 0;
    std::size_t step = 0, update = 0, samples = 0;
    bool pending = false;
  };

  void queue(Flight& flight, std::size_t step, StepParts parts);
  Pass pass(const RankSlice& slice, std::size_t samples, AnyInput weights,
            Span<float> gradients) const;
  int virtual_ranks() const { return options_.batches.ranks / world_; }
  Span<float> micro_batch_gradients(int virtual_rank) const;
  void reduce_and_update(Flight& flight, std::size_t bucket, StepParts parts);
  void update(std::size_t bucket);
  std::size_t slot_of(const Flight& flight) const {
    return static_cast<std::size_t>(&flight - flights_.data());
  }
  void order(const Stream& first, const Stream& then) const;
  void run_without_images(const Pass& pass, Span<float> gradients,
                          const Plan::Finished& finished) const;
  void prepare_exchange();
  void make_plans();
  std::size_t own_samples(std::size_t step) const;
  void sum_over_ranks(Span<float> values, std::size_t bucket);
  void write_requests(std::size_t slot);
  void read_head(std::size_t slot, StepParts parts);
  void read_loss_scale(std::size_t slot);
  bool scales_loss() const { return loss_scale_.size() > 0; }
  Span<const std::uint32_t> diverged() const { return halts_.cspan().subspan(0, 1); }
  Span<std::uint32_t> overflow() const { return halts_.span().subspan(1, halts_.size() - 1); }
  void wait(const Event& event) const;
  void collect(std::size_t slot);

  const Model& model_;
  const Device& device_;
  const ResidentData& data_;
  StepOptions options_;
  Batches batches_;
  int rank_ = 0, world_ = 1;  // processes
  Weights& weights_;
  Optimizer& optimizer_;
  OnResult on_result_;

  std::map<std::uint32_t, Plan> plans_;  // by number of images
  Buffer<std::byte> activations_, workspace_;
  RoundedWeights rounded_weights_;
  Buffer<float> gradients_;  // [virtual ranks, GradientLayout]; with one, unused: it writes sum_
  CollectiveBuffer<float> sum_;           // [GradientLayout]: what is reduced and applied
  CollectiveBuffer<std::uint16_t> wire_;  // [GradientLayout] where 16 bits travel
  Buffer<float> exchanged_;               // what layers of all ranks tell each other within a pass
  RankExchange exchange_;
  Buffer<std::int32_t> labels_;
  Buffer<float> loss_workspace_;
  Buffer<StepState> state_;
  PinnedBuffer<StepState> states_;   // [kInFlight]
  PinnedBuffer<Requests> requests_;  // [kInFlight]: this rank's
  PinnedBuffer<Head> heads_;         // [kInFlight]: of all ranks
  Buffer<LossScale> loss_scale_;     // [1]; empty where the loss is not scaled
  PinnedBuffer<LossScale> scales_;   // [kInFlight]: after the step
  Buffer<std::uint32_t> halts_;      // {diverged, overflow}, or {diverged}: kernels/divergence.h
  std::vector<Flight> flights_;
  Event first_begin_{true};
  Event order_;
  StepGraphs graphs_;  // of a step of each shape and slot; before what they work on is freed
  std::size_t queued_ = 0, updates_;
};

}  // namespace annulus
