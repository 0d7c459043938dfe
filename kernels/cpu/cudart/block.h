// Emulation of one block after another: every CUDA thread runs as a fiber of the calling host
// thread, in a chosen order, up to its next barrier. Threads that reach different barriers, or
// return while others wait, end the kernel with a "divergent barrier" report. Called by launch.cpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/simt.h"

namespace annulus::cpu {

// Runs kernel.run(packed) for every thread of every block, blocks in order.
void emulate(const simt::Kernel& kernel, const void* packed, dim3 grid, dim3 block,
             std::size_t shared_bytes);

// The emulated thread's part of a grid_stride loop over n. Only inside emulate().
simt::LoopRange emulated_range(std::size_t n);
bool is_emulating();

// " in thread (x,y,z) of block (x,y,z)", or nothing outside emulate().
std::string emulated_place();

}  // namespace annulus::cpu
