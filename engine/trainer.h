// A training run, as each of its ranks does it: epochs of steps, an exact evaluation after each, a
// line of metrics and the weights on disk by rank 0. Called by `annulus train` and by tests.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "engine/metrics.h"
#include "engine/run_folder.h"
#include "engine/train_plan.h"
#include "engine/world.h"

namespace annulus {

// Trains and returns the metrics of each epoch. Throws UserError (diverged) at a loss that is not
// finite, PeerError when another rank is lost; then each rank's flight record is in the folder.
std::vector<EpochMetrics> train(const TrainOptions& options, const Datasets& data, World& world,
                                const RunFolder& folder);

}  // namespace annulus
