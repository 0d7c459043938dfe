// A recipe: every number that decides how a model is trained, with the defaults that a model's
// entry sets and the command line overrides. Plain data; read by the trainer, written into
// config.json.
#pragma once

#include <cstdint>
#include <string>

namespace annulus {

struct Recipe {
  int epochs = 10;
  std::string optimizer = "sgd";       // sgd (Nesterov), adam, adamw
  std::string schedule = "one-cycle";  // constant, warm-up, one-cycle, cosine
  double learning_rate_per_1024 =
      0.5;              // peak, for a global batch of 1024; scaled linearly with the batch
  double warmup = 0.2;  // share of all updates
  double momentum = 0.9;
  double weight_decay = 5e-4;  // on weights only, never on biases or BatchNorm
  double label_smoothing = 0.1;
  double dropout_scale = 1;         // multiplies the model's dropout rates
  double batchnorm_momentum = 0.1;  // share of the new batch in the running statistics
  bool flip = true;                 // mirror every image in every other epoch
  int translate = 2;                // pixels
  int cutout = 0;                   // side, pixels
};

}  // namespace annulus
