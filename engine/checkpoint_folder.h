// A run's checkpoints on disk: step-000000120.safetensors and so on in one folder. Invariant: at
// any moment, also one of a kill, a full disk or a power cut, every checkpoint that was complete
// before is still there, but for those beyond the last K and those of later updates (a resume went
// back behind them), which go only after a newer one has come.
// Used by rank 0: the trainer writes, resume reads.
#pragma once

#include <filesystem>
#include <future>
#include <optional>
#include <vector>

#include "engine/checkpoint.h"

namespace annulus {

// Complete or damaged, by update, newest first; what killed writers left is no checkpoint.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& folder);

// The newest that can be read; a damaged one costs a warning. Nothing where there is none; throws
// UserError (data) where there are some and none is good: to begin anew in silence would be worse.
std::optional<CheckpointFile> newest_checkpoint(const std::filesystem::path& folder);

// Writes checkpoints on a thread of its own, one at a time.
class CheckpointWriter {
 public:
  // Makes the folder. Throws UserError (storage) where it cannot be written or has no room for two
  // checkpoints.
  CheckpointWriter(const Model& model, std::filesystem::path folder, std::size_t keep,
                   std::size_t moments);

  // Returns once the one before is written. Throws what that met: UserError (storage), or
  // (diverged) where a number was not finite; such a checkpoint is not written.
  void save(Snapshot snapshot);
  void wait();

  // The last one that is written; empty: none yet.
  const std::filesystem::path& last() const { return last_; }

 private:
  std::filesystem::path write(const Snapshot& snapshot) const;
  void remove_all_but_the_last(const std::filesystem::path& newest) const;

  const Model& model_;
  std::filesystem::path folder_;
  std::size_t keep_;
  std::future<std::filesystem::path> writing_;
  std::filesystem::path last_;
};

}  // namespace annulus
