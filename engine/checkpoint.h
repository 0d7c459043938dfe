// A checkpoint file: the run's state and every number that training changes, by the parameter's
// name, in a safetensors container whose last tensor is the SHA-256 of all bytes before it. So any
// reader of safetensors can look into it, and a torn or altered file is never loaded. Called by the
// trainer (rank 0) and by resume.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/model/model.h"
#include "engine/run_state.h"
#include "engine/safetensors.h"

namespace annulus {

// On the host, in the layouts of the flat buffers.
struct Snapshot {
  RunState state;
  std::vector<float> parameters, running;
  std::vector<std::vector<float>> moments;  // of the optimizer: one or two
};

std::vector<std::uint8_t> checkpoint_bytes(const Model& model, const Snapshot& snapshot);

// A file whose checksum is right; whether it fits the model shows when it is taken apart.
struct CheckpointFile {
  std::filesystem::path path;
  RunState state;
  TensorFile tensors;
};

// Throws UserError (data) with path, fact and fix.
CheckpointFile parse_checkpoint(const std::filesystem::path& path, std::vector<std::uint8_t> bytes);
CheckpointFile read_checkpoint(const std::filesystem::path& path);

// Throws UserError (data) naming the tensor and both shapes where the file does not fit.
Snapshot snapshot_of(const CheckpointFile& file, const Model& model, std::size_t moments);

}  // namespace annulus
