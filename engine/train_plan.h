// What a training run was asked to do, and what follows from that and the size of the data:
// batches, updates, learning rates. Worked out and checked before anything is allocated. Called by
// engine/cli, engine/trainer and engine/run_config.
#pragma once

#include <cstdint>
#include <string>

#include "data/sampler.h"
#include "engine/recipe.h"
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
  std::string wire = "fp32";  // what travels between ranks: fp32, bf16, fp16
  bool trace = false;         // the last steps of all ranks as trace.json
  std::string katib_metrics;  // file that Katib reads; empty: none
  bool tensorboard = false;   // an event file in the run folder
  bool communicate = true,
       compute = true;  // false: the step without one half, to measure the other
};

struct TrainPlan {
  Batches batches{};
  std::size_t updates = 0;  // of the whole run
  Schedule schedule;
  std::string rate_rule;  // how the peak follows from the global batch

  std::string describe() const;  // one line: global batch, updates, rates
};

// `ranks` processes of options.virtual_ranks each. Throws UserError (usage) for options that
// contradict each other or the data.
TrainPlan plan_training(const TrainOptions& options, int ranks, std::size_t samples);

SumOrder parse_sum_order(const std::string& name);  // throws UserError (usage)

}  // namespace annulus
