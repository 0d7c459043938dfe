// What an execution plan holds once it is finalized, and its execution with a variant pack. Called
// by api.cpp.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/cpu/cudnn/descriptor.h"

namespace annulus::cpu {

// The engines' indices. ANNULUS_CPU_UNSTEADY_ENGINE adds the unsteady one: every other run of a
// plan gives another last bit. Graphs of float also have one that rounds products' inputs to TF32.
inline constexpr std::int64_t kPlainEngine = 0, kTf32Engine = 1, kUnsteadyEngine = 2;

// Those that a graph has, the one that heuristics like best first: as on GPUs with tensor cores,
// for float TF32 before float itself. Throws NOT_SUPPORTED_… for a graph that the device does not
// have.
std::vector<std::int64_t> engines_of(const Descriptor& graph);

// What a finalized engine says of itself.
std::vector<cudnnBackendNumericalNote_t> notes_of(const Descriptor& engine);
// What the unsteady engine does to its output.
void disturb(void* out);

struct PreparedPlan {
  std::size_t workspace_bytes = 0;
  // Queues the work with a pack's pointers. BAD_PARAM… for what the pack lacks,
  // EXECUTION_FAILED_CUDART when the runtime refuses the memory.
  std::function<void(cudaStream_t, const Descriptor& pack)> enqueue;
};

// Makes every primitive that the plan's engine configuration needs. Throws NOT_SUPPORTED_… when the
// graph is not one that the device has, or oneDNN has no primitive for it.
std::shared_ptr<const PreparedPlan> prepare_plan(const Descriptor& plan);

// What finalize kept in a plan; null for other descriptors.
const PreparedPlan* prepared_plan(const Descriptor& descriptor);

// Queues the plan on the stream with the pack's pointers.
void execute_plan(cudaStream_t stream, const Descriptor& plan, const Descriptor& pack);

}  // namespace annulus::cpu
