// The table of models.
#include "engine/model/models.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/check.h"

namespace annulus {

const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> table = {
      {"seed-cnn",
       "six 3x3 convolutions with BatchNorm and Dropout (the reference experiment's)",
       seed_cnn,
       {.dropout_scale = 0.5}},
      {"resnet-8", "CIFAR ResNet, one block a stage", resnet8, {.label_smoothing = 0}},
      {"mnist-cnn",
       "two 3x3 convolutions for digits; never mirrors them",
       mnist_cnn,
       {.epochs = 5, .label_smoothing = 0, .flip = false}},
      {"mlp",
       "two hidden layers of 256, no convolution",
       mlp,
       {.learning_rate_per_1024 = 0.1, .flip = false, .translate = 0}},
  };
  return table;
}

const ModelEntry& find_model(const std::string& name) {
  const auto& table = models();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const ModelEntry& entry) { return entry.name == name; });
  if (found != table.end()) return *found;
  std::string names;
  for (const ModelEntry& entry : table) names += (names.empty() ? "" : ", ") + entry.name;
  throw UserError(ExitCode::usage,
                  fmt::format("--model {}: there is no such model; one of: {}", name, names));
}

}  // namespace annulus
