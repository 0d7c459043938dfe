// A whole run by a model's default recipe, alone, in a folder that is gone afterwards. Used by
// learning_test and precision_learning_test.
#pragma once

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include "engine/model/models.h"
#include "engine/trainer.h"

namespace annulus::test {

// On the test images of what load_datasets makes of `data`.
inline double accuracy_after(TrainOptions options, int epochs, const std::string& data) {
  options.recipe = find_model(options.model).recipe;
  options.recipe.epochs = epochs;
  const auto path =
      std::filesystem::temp_directory_path() / ("annulus-learning-" + std::to_string(::getpid()));
  std::filesystem::remove_all(path);
  World alone{};
  const Datasets sets = load_datasets({.spec = data});
  const TrainPlan plan = plan_training(options, 1, {sets.train.size(), sets.checksum});
  const TrainResult result =
      train(options, plan, sets, alone, RunFolder(path, nlohmann::ordered_json{}));
  std::filesystem::remove_all(path);
  return result.history.back().validation.accuracy;
}

}  // namespace annulus::test
