// The weights of a forward convolution or data gradient in the memory format that its primitive
// wants: rearranged once per run into the workspace, for all pieces. Called by conv_images.cpp.
#pragma once

#include <dnnl.hpp>

#include <cstddef>
#include <vector>

#include "kernels/cpu/cudnn/conv_problem.h"
#include "kernels/cpu/cudnn/prepared_call.h"

namespace annulus::cpu {

// How the program's weights relate to the problem's.
enum class WeightOrder {
  plain,   // KRSC of the problem's own filters and channels
  turned,  // of the convolution that the problem is the data gradient of: filters and channels
           // swapped, taps reversed
};

class ConvWeights {
 public:
  ConvWeights(const ConvProblem& problem, WeightOrder order, const dnnl::memory::desc& wanted);

  // What the primitives read. Valid for a run after arrange().
  const dnnl::memory& memory() const { return wanted_; }
  // Bytes of workspace; 0 when the primitive takes the program's weights as they are.
  std::size_t workspace_bytes() const;
  void arrange(const void* weights, void* workspace);

 private:
  void add_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  dnnl::memory wanted_;
  std::vector<PreparedCall> reorders_;  // of disjoint weights, so they may run at once
};

}  // namespace annulus::cpu
