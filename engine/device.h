// The device a rank computes on: one compute stream and the library handles that launch on it.
// Made once by the trainer (or a test) before anything else touches the device; passed down by
// reference.
#pragma once

#include "kernels/conv.h"
#include "kernels/cuda.h"
#include "kernels/gemm.h"

namespace annulus {

struct Device {
  Stream compute;
  CudnnHandle cudnn;
  CublasHandle cublas;
};

}  // namespace annulus
