// model.safetensors: the parameters and running statistics of a model, by name. Tensors are in the
// engine's own layouts, conv [K,R,S,C] and dense [out,in]. Called by the trainer and `annulus
// eval`.
#pragma once

#include <filesystem>

#include "engine/weights.h"

namespace annulus {

// Throws UserError (storage).
void save_weights(const std::filesystem::path& path, const Model& model, const Weights& weights);

// The model's name in the file's metadata, so that eval can build it before it loads. Throws
// UserError (data).
std::string saved_model_name(const std::filesystem::path& path);

// Throws UserError (data) naming the tensor and both shapes where the file does not fit the model;
// weights are then unchanged.
void load_weights(const std::filesystem::path& path, const Model& model, Weights& weights);

}  // namespace annulus
