// A planned convolution: its oneDNN primitives, its pieces and its workspace are fixed when the
// execution plan is finalized; running it makes and allocates nothing. Called by api.cpp.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/cpu/cudnn/conv_problem.h"

namespace annulus::cpu {

// Device memory as ConvTask names it; bias only where the problem has one.
struct ConvPointers {
  const void* a;
  const void* b;
  const void* bias;
  void* out;
  void* workspace;  // at least workspace_bytes(), at least 64-byte aligned
};

class ConvExecution {
 public:
  virtual ~ConvExecution() = default;
  virtual std::size_t workspace_bytes() const = 0;
  // Runs on the calling thread and the pool, and returns when done. Runs of one plan take turns.
  virtual void run(const ConvPointers& pointers) const = 0;
};

// Throws dnnl::error when oneDNN has no primitive for the problem.
std::shared_ptr<const ConvExecution> plan_convolution(const ConvProblem& problem);

// The kinds: in fp32, images that do not depend on each other, and a sum over images; and one of
// the two between roundings.
std::shared_ptr<const ConvExecution> plan_image_convolution(const ConvProblem& problem);
std::shared_ptr<const ConvExecution> plan_weight_gradient(const ConvProblem& problem);
std::shared_ptr<const ConvExecution> plan_rounded_convolution(const ConvProblem& problem);

}  // namespace annulus::cpu
