// What a training run was asked to do, and what follows from that and the size of the data:
// batches, updates, learning rates. Worked out and checked before anything is allocated. Called by
// engine/cli, engine/trainer and engine/run_config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/sampler.h"
#include "engine/recipe.h"
#include "engine/replacements.h"
#include "engine/run_state.h"
#include "engine/schedule.h"
#include "kernels/sum_ranks.h"

namespace annulus {

struct TrainOptions {
  std::string model = "seed-cnn";
  Recipe recipe;
  double learning_rate = 0;        // peak; 0: the recipe's, scaled with the global batch
  int batch_size = 64;             // per (virtual) rank
  int virtual_ranks = 1;           // of each rank
  std::string sum_order = "rank";  // rank, ring
  bool drop_last = false;
  std::uint64_t seed = 1;
  std::size_t max_steps = 0;  // updates; 0: all epochs
  std::string bucket_size = "128K,1M";
  bool sync_batchnorm = false;
  std::string precision = "fp32";  // engine/precision.h
  std::string wire = "fp32";       // what travels between ranks: fp32, bf16, fp16
  bool deterministic = false;      // nothing is left to cuDNN and NCCL that may differ between runs
  bool graph = true;               // each step is one CUDA graph
  std::string replace = kNoReplacements;  // our kernels by cuDNN's: engine/replacements.h
  bool trace = false;                     // the last steps of all ranks as trace.json
  std::string katib_metrics;              // file that Katib reads; empty: none
  bool tensorboard = false;               // an event file in the run folder
  std::string checkpoint_every = "1epoch";
  int keep_checkpoints = 3;
  bool communicate = true,
       compute = true;  // false: the step without one half, to measure the other
};

struct TrainPlan {
  Batches batches{};
  Batches first_epoch{};    // its rest, where a run resumes within it; else as all
  RunState start;           // where this start of the run begins
  std::size_t updates = 0;  // of the whole run
  std::size_t epochs = 0;   // of the whole run, a short last one included
  Schedule schedule;
  std::string rate_rule;  // how the peak follows from the global batch

  const Batches& batches_of(std::uint32_t epoch) const {
    return epoch == start.epoch ? first_epoch : batches;
  }

  std::string describe() const;  // one line: global batch, updates, rates
};

// What the samples of a run are, and which they are.
struct DataFacts {
  std::size_t samples = 0;
  std::string checksum;
};

// What can be wrong whatever the data and the number of ranks: looked at before ranks are started.
// Throws UserError (usage).
void check_options(const TrainOptions& options);

// `ranks` processes of options.virtual_ranks each; `resumed` where the run goes on. Another world
// size then goes on from the samples seen, with the rate in proportion to the global batch (docs/
// checkpoints.md). Throws UserError (usage) for options that contradict each other, the data or
// what is resumed.
TrainPlan plan_training(const TrainOptions& options, int ranks, const DataFacts& data,
                        const std::optional<RunState>& resumed = std::nullopt);

SumOrder parse_sum_order(const std::string& name);  // throws UserError (usage)

}  // namespace annulus
