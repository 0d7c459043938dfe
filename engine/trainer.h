// A training run, as each of its ranks does it: epochs of steps, an exact evaluation after each, a
// line of metrics, checkpoints and the weights on disk by rank 0. Stopped at any update and
// resumed, it ends in the bits of a run that was not. Called by `annulus train` and by tests.
#pragma once

#include <optional>
#include <vector>

#include "data/dataset.h"
#include "engine/checkpoint.h"
#include "engine/metrics.h"
#include "engine/run_folder.h"
#include "engine/train_plan.h"
#include "engine/world.h"

namespace annulus {

struct TrainResult {
  std::vector<EpochMetrics> history;  // of the epochs of this start
  std::optional<int> stopped_by;      // a rank was sent SIGINT or SIGTERM: all stopped
  std::size_t updates = 0;            // done
};

// `plan` says where the run begins; `checkpoint` is what it resumes, on rank 0. Throws UserError
// (diverged) at a loss that is not finite, naming the layer, and PeerError when another rank is
// lost; then each rank's flight record is in the folder.
TrainResult train(const TrainOptions& options, const TrainPlan& plan, const Datasets& data,
                  World& world, const RunFolder& folder,
                  const std::optional<CheckpointFile>& checkpoint = std::nullopt);

}  // namespace annulus
