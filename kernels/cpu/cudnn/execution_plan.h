// What an execution plan holds once it is finalized, and its execution with a variant pack. Called
// by api.cpp.
#pragma once

#include <cudnn.h>

#include <memory>

#include "kernels/cpu/cudnn/conv_execution.h"
#include "kernels/cpu/cudnn/descriptor.h"
#include "kernels/cpu/cudnn/graph.h"

namespace annulus::cpu {

struct PreparedPlan {
  ConvTask task;
  std::shared_ptr<const ConvExecution> execution;
};

// Makes every primitive that the plan's engine configuration needs. Throws NOT_SUPPORTED_… when the
// graph is not one that the device has, or oneDNN has no primitive for it.
std::shared_ptr<const PreparedPlan> prepare_plan(const Descriptor& plan);

// What finalize kept in a plan; null for other descriptors.
const PreparedPlan* prepared_plan(const Descriptor& descriptor);

// Queues the plan on the stream with the pack's pointers. BAD_PARAM… for what the pack lacks,
// EXECUTION_FAILED_CUDART when the runtime refuses the memory.
void execute_plan(cudaStream_t stream, const Descriptor& plan, const Descriptor& pack);

}  // namespace annulus::cpu
