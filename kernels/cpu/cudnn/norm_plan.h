// Execution plans of norm graphs. Called by execution_plan.cpp.
#pragma once

#include "kernels/cpu/cudnn/descriptor.h"
#include "kernels/cpu/cudnn/execution_plan.h"

namespace annulus::cpu {

// Throws NOT_SUPPORTED_… when the graph is not one that the device has.
PreparedPlan prepare_norm(const Descriptor& graph, bool unsteady);

}  // namespace annulus::cpu
