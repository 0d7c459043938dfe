// The device a rank computes on: its streams and the library handles that launch on the compute
// stream. Made once by the trainer (or a test) before anything else touches the device; passed down
// by reference.
#pragma once

#include "kernels/conv.h"
#include "kernels/cuda.h"
#include "kernels/dropout_cudnn.h"
#include "kernels/gemm.h"

namespace annulus {

struct Device {
  explicit Device(Engines engines = Engines::any) : cudnn(engines) {}

  Stream compute;        // forward, loss, backward
  Stream communication;  // all-reduces, in the order of the buckets
  Stream update;         // a bucket's optimizer, while the next bucket is on the wire
  CudnnHandle cudnn;
  CublasHandle cublas;
  mutable DropoutStates dropout_states;  // allocated by the first plan that draws from them
};

}  // namespace annulus
