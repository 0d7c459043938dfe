// What a training step of a model would be on a GPU that need not be there: for each call the
// engines that cuDNN has for it and the time that the GPU's limits allow at best. Called by the
// plan command.
#pragma once

#include <string>
#include <vector>

#include "engine/forecast/calls.h"
#include "engine/forecast/gpu.h"
#include "kernels/cudnn_engines.h"

namespace annulus::forecast {

// The roofline (Williams, Waterman & Patterson 2009): a call takes as long as the slower of its
// arithmetic and its traffic, if the other hides behind it.
struct Row {
  StepCall call;
  double compute_seconds = 0, memory_seconds = 0;
  // Of what cuDNN computes through graphs, if it could be asked.
  std::optional<cudnn_graph::EngineList> engines;

  bool memory_bound() const { return memory_seconds >= compute_seconds; }
  double seconds() const { return memory_bound() ? memory_seconds : compute_seconds; }
  double intensity() const { return call.flops / call.bytes; }  // FLOP/B
};

struct Forecast {
  std::string model;
  Gpu gpu;
  Precision precision;
  int images = 0;
  std::vector<Row> rows;
  std::string not_asked;  // why no row has engines; empty: they have

  double peak() const { return gpu.peak_flops.at(std::string(precision.name)); }
  double seconds() const;
  double memory_bound_seconds() const;
  double flops() const;
  double bytes() const;
};

// Throws UserError (usage) where the GPU does not have the precision.
Forecast make_forecast(const Model& model, const Gpu& gpu, int images, const Precision& precision);

std::string to_text(const Forecast& forecast);
std::string to_json(const Forecast& forecast);

}  // namespace annulus::forecast
