// Which of cuDNN's engines compute an operation graph: heuristics propose them, their notes say
// what they are like, a rule says which will do. The same rule makes a plan on a device that is
// here, and lists engines for one that is only described (cudnn_device.h). Called by conv.cpp and
// engine/forecast. cuDNN developer guide, "Heuristics" and "Reproducibility".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/conv.h"
#include "kernels/cudnn_graph.h"

namespace annulus::cudnn_graph {

// What an engine's notes say of it.
struct Engine {
  std::int64_t index = 0;      // cuDNN's name for it
  bool deterministic = true;   // the same bits, run after run; else it sums by atomics, for one
  bool tensor_cores = false;   // with fp32 tensors: its products are TF32
  bool rounds_inputs = false;  // to a shorter type than the tensors'
};

// Which engines will do.
struct EngineRule {
  Engines engines = Engines::any;
  bool reduced_inputs = true;  // false: products of fp32 numbers are fp32, not TF32

  bool allows(const Engine& engine) const {
    if (engines == Engines::deterministic && !engine.deterministic) return false;
    return reduced_inputs || (!engine.tensor_cores && !engine.rounds_inputs);
  }
};

// The first engine that heuristics propose (mode A, then the fallback), that the rule allows and
// that finalizes. Throws DeviceError.
Descriptor plan(cudnnHandle_t handle, const std::vector<Descriptor>& operations,
                const EngineRule& rule = {});

struct EngineList {
  std::vector<Engine> engines;                 // each once, the one that heuristics like best first
  std::optional<std::size_t> workspace_bytes;  // of the first that can be built here
  std::string refusal;                         // why there are none, or none that can be built
};

// All that heuristics propose on a described device and the rule allows.
EngineList engines_for(const Descriptor& device, const std::vector<Descriptor>& operations,
                       const EngineRule& rule);

}  // namespace annulus::cudnn_graph
