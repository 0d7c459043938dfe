// One training step as a list of what is computed: for each call its FLOPs, the bytes that must go
// to and from memory at least, and the convolution or batch norm that cuDNN is asked for. Called by
// engine/forecast/forecast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "kernels/batchnorm_graph.h"
#include "kernels/precision.h"

namespace annulus::forecast {

struct BatchNormCall {
  BatchNormShape shape;
  BatchNormPass pass;
};

struct StepCall {
  std::string layer;  // "conv1"; "step" for what belongs to none
  std::string pass;   // "forward", "weight gradient", "data gradient", "backward", …
  double flops = 0;   // multiplications and additions of convolutions and dense layers alone
  double bytes = 0;   // each input read once, each output written once
  std::optional<ConvCall> convolution = {};
  std::optional<BatchNormCall> batchnorm = {};  // where it is cuDNN's
};

// By layers in the order of the forward pass, then the loss and the update (SGD with momentum).
// Master weights, gradients and momentum are fp32 in every precision.
std::vector<StepCall> step_calls(const Model& model, int images, const Precision& precision);

}  // namespace annulus::forecast
