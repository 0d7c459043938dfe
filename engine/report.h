// What a run says after each epoch: the line on stdout, metrics.jsonl, the file for Katib,
// TensorBoard's events. On rank
// 0 alone; called by the trainer. metrics.jsonl is the truth, and the other files follow from its
// lines: where a resumed run finds lines in it, they are written anew from these, so that none
// holds an epoch that is to come again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "engine/metrics.h"
#include "engine/record_file.h"
#include "engine/run_folder.h"
#include "engine/tensorboard.h"
#include "engine/train_plan.h"

namespace annulus {

// Throws UserError (storage) where a file that the options name cannot be made. Called by rank 0
// before it makes the run folder, so that no folder is left of a run that could not start.
void check_report_files(const TrainOptions& options);

class Report {
 public:
  // Opens the files that the options name. A resumed run's metrics.jsonl must have been cut to the
  // epochs that count. Throws UserError (storage) where a file cannot be made.
  Report(const TrainOptions& options, const RunFolder& folder);

  void epoch(const EpochMetrics& metrics);

 private:
  void add_to_other_files(const nlohmann::ordered_json& epoch);

  const RunFolder& folder_;
  std::optional<RecordFile> katib_;
  std::optional<TensorBoardFile> tensorboard_;
};

}  // namespace annulus
