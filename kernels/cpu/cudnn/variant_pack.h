// What a variant pack brings for a plan's tensors, checked as far as the device can before it is
// used. Called by the kinds of plans when they are executed.
#pragma once

#include <cudnn.h>

#include <cstddef>

#include "kernels/cpu/cudnn/descriptor.h"
#include "kernels/cpu/cudnn/tensor.h"

namespace annulus::cpu {

// The tensor's device address. BAD_PARAM, BAD_PARAM_NULL_POINTER or BAD_PARAM_MISALIGNED_POINTER.
void* pointer_of(const Tensor& tensor, const Descriptor& pack);

// The number that a tensor passed by value has, in the program's own memory.
float scalar_of(const Tensor& tensor, const Descriptor& pack);

// At least `needed` bytes of device memory, else a report and BAD_PARAM.
void* workspace_of(const Descriptor& pack, std::size_t needed);

}  // namespace annulus::cpu
