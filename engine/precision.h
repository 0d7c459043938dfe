// The precision of a run by the name that --precision gives it, and whether the device has it.
// Called where options are checked and before anything is allocated.
#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <string>

#include "kernels/precision.h"

namespace annulus {

// All of them: "fp32|tf32|bf16|fp16", for help.
std::string precision_names(const char* between = "|");

std::optional<Precision> find_precision(const std::string& name);

// Throws UserError (usage) that lists the names.
Precision parse_precision(const std::string& name);

// Throws UserError (device) where the device does not compute in it: bf16 before compute capability
// 8.0 (CUDA C++ programming guide, "Compute Capabilities"). TF32 is fp32 there.
void require_precision(const Precision& precision, const cudaDeviceProp& device);
void require_precision(const Precision& precision);  // of the current device

}  // namespace annulus
