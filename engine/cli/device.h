// --device: which implementation of CUDA, cuDNN, cuBLAS and NCCL computes. The cpu build has one. A
// program of the cuda build has been linked with NVIDIA's; to compute on the CPU device it starts
// itself anew with the CPU device's folder in front of the loader's path. Called by each command
// that touches a device, before its first CUDA call.
#pragma once

#include <string>

namespace annulus {

// `device`: "auto" (GPUs where there is an NVIDIA driver, else the CPU device, and a line that says
// so), "cpu" or "cuda". `threads` 0: as many as the CPU device finds. Throws UserError (device): no
// GPU part in this build, no driver, one too old, no visible device.
void choose_device(const std::string& device, int threads = 0);

}  // namespace annulus
