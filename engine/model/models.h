// The models that come with Annulus, by name, each with the recipe that trains it best here. To add
// one: write a function that returns a Model, and a line in models.cpp.
#pragma once

#include <string>
#include <vector>

#include "engine/model/model.h"
#include "engine/recipe.h"
#include "engine/replacements.h"

namespace annulus {

struct ModelOptions {
  ImageShape image{32, 32, 3};
  int classes = 10;
  float dropout_scale = 1;  // multiplies every dropout rate of the model
  bool fuse = true;         // see ModelBuilder
  Replacements replacements = {};
};

Model seed_cnn(const ModelOptions& options);  // [Conv3x3, BN, ReLU] x2, MaxPool, Dropout for 32,
                                              // 64, 128; Dense head
Model resnet8(
    const ModelOptions& options);  // CIFAR ResNet with one block a stage: 16, 32, 64 filters
Model mnist_cnn(
    const ModelOptions& options);        // [Conv3x3, BN, ReLU, MaxPool] for 32, 64; Dense head
Model mlp(const ModelOptions& options);  // two hidden layers of 256

struct ModelEntry {
  std::string name, summary;
  Model (*build)(const ModelOptions&);
  Recipe recipe;
};

const std::vector<ModelEntry>& models();

// Throws UserError (usage) that lists the names.
const ModelEntry& find_model(const std::string& name);

}  // namespace annulus
