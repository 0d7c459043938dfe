// A training run on one rank: epochs of steps, an exact evaluation after each, a line of metrics,
// the weights on disk. Called by `annulus train` and by tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sampler.h"
#include "engine/metrics.h"
#include "engine/recipe.h"
#include "engine/run_folder.h"
#include "engine/schedule.h"

namespace annulus {

struct TrainOptions {
  std::string model = "seed-cnn";
  Recipe recipe;
  double learning_rate = 0;  // peak; 0: the recipe's, scaled with the global batch
  int batch_size = 64;       // per (virtual) rank
  int virtual_ranks = 1;
  std::string sum_order = "rank";  // rank, ring
  bool drop_last = false;
  std::uint64_t seed = 1;
  std::size_t max_steps = 0;  // updates; 0: all epochs
};

// What follows from the options and the size of the data, worked out and checked before anything is
// allocated.
struct TrainPlan {
  Batches batches{};
  std::size_t updates = 0;  // of the whole run
  Schedule schedule;

  std::string describe() const;  // one line: global batch, updates, rates
};

// Throws UserError (usage) for options that contradict each other or the data.
TrainPlan plan_training(const TrainOptions& options, std::size_t samples);

// Trains and returns the metrics of each epoch. Throws UserError (diverged) at a loss that is not
// finite.
std::vector<EpochMetrics> train(const TrainOptions& options, const Datasets& data,
                                const RunFolder& folder);

}  // namespace annulus
