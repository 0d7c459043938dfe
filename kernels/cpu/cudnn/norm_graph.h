// Graphs of one batch norm: what the operation's tensors mean, and whether the CPU device can run
// it: training, packed NHWC, fp32. Called by graph.cpp, api.cpp and norm_plan.cpp.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/cpu/cudnn/descriptor.h"
#include "kernels/cpu/cudnn/tensor.h"

namespace annulus::cpu {

// Statistics are per channel over rows = N*H*W; mean to bias are [1,C,1,1].
struct NormForwardTask {
  // out = (1 - factor) * in + factor * batch; of the variance the unbiased one.
  struct Running {
    Tensor factor;  // one float, by value
    Tensor mean_in, variance_in, mean_out, variance_out;
  };

  Tensor x, scale, bias, epsilon;  // epsilon: one float, by value
  Tensor y, mean, inv_variance;    // inv_variance = 1 / sqrt(biased variance + epsilon)
  std::optional<Running> running;
};

struct NormBackwardTask {
  Tensor x, dy, mean, inv_variance, scale;
  Tensor dx, dscale, dbias;
};

bool is_norm_operation(const Descriptor& operation);
bool is_norm_graph(const Descriptor& graph);

// What the operation writes, as far as it is set.
std::vector<DescriptorPtr> norm_outputs(const Descriptor& operation);

// When an operation is finalized: BAD_PARAM_SHAPE_MISMATCH, or BAD_PARAM for a scalar on the
// device, as the real library.
void check_norm_operation(const Descriptor& operation);

// The task of a graph of one operation; null for the other direction. Throws NOT_SUPPORTED_….
std::optional<NormForwardTask> norm_forward_task(const Descriptor& graph);
std::optional<NormBackwardTask> norm_backward_task(const Descriptor& graph);

// Throws NOT_SUPPORTED_… unless one of the two is there.
void require_norm_task(const Descriptor& graph);

}  // namespace annulus::cpu
