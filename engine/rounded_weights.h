// The weights as products read them: in half precisions a rounded copy of the flat fp32 parameters,
// made anew at the begin of each step and of each evaluation, so that it is never older than they
// are. In fp32 and TF32 the parameters themselves. Called by engine/step and engine/evaluate.
#pragma once

#include "kernels/any_span.h"
#include "kernels/cuda.h"

namespace annulus {

class RoundedWeights {
 public:
  RoundedWeights(const Precision& precision, std::size_t parameters);

  // Queues the copy; returns the same place every time.
  AnyInput of(Span<const float> parameters, cudaStream_t stream) const;

 private:
  Element element_;
  Buffer<std::byte> copy_;  // [parameters] of the element; empty where it is fp32
};

}  // namespace annulus
