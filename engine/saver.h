// Between the device and a checkpoint: copies what training changes to the host and back.
// Invariant: what is saved is the state after a whole update, of which the host has seen the
// result. Used by the trainer; rank 0 alone writes.
#pragma once

#include <optional>
#include <string>

#include "engine/checkpoint_folder.h"
#include "engine/optimizer.h"
#include "engine/weights.h"

namespace annulus {

class Saver {
 public:
  Saver(const Model& model, Weights& weights, Optimizer& optimizer)
      : model_(model), weights_(weights), optimizer_(optimizer) {}

  // From here on this rank writes. Throws UserError (storage): CheckpointWriter.
  void write_to(const std::filesystem::path& folder, int keep);

  // Throws UserError (data) where the file does not fit the model and the optimizer.
  void restore(const CheckpointFile& file);

  // A checkpoint of `state`, unless it is saved already; the file is written beside the steps that
  // follow. Where this rank does not write: nothing. Throws what the write before met.
  void save(const RunState& state);
  void finish();  // waits for the last write

  std::string last();  // the last checkpoint on disk; empty: none

 private:
  const Model& model_;
  Weights& weights_;
  Optimizer& optimizer_;
  std::optional<CheckpointWriter> writer_;
  std::optional<RunState> saved_;
};

}  // namespace annulus
