// The scalars of a run as an event file that TensorBoard reads, in the run's folder, so that
// `tensorboard --logdir runs` shows each run by its folder's name. One file holds the whole run. It
// only grows, as a reader may be watching it: a resumed run tells readers to forget what stands
// before, then says all of its epochs again. Called by engine/report.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "engine/record_file.h"

namespace annulus {

class TensorBoardFile {
 public:
  // Makes the folder's event file or goes on with it. Throws UserError (storage) where it cannot be
  // written.
  explicit TensorBoardFile(const std::filesystem::path& folder);

  // Of a line of metrics.jsonl (epoch_json in metrics.h); step = updates, and a number that is not
  // finite is NaN, which TensorBoard marks.
  void add(const nlohmann::ordered_json& epoch);

 private:
  RecordFile file_;
};

}  // namespace annulus
