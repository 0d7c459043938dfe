// From descriptors to a task: what the tensors and operations of a graph mean, and whether the one
// engine of the CPU device can run it. Called by api.cpp when descriptors are finalized.
#pragma once

#include <cudnn.h>

#include <optional>

#include "kernels/cpu/cudnn/conv_problem.h"
#include "kernels/cpu/cudnn/descriptor.h"
#include "kernels/cpu/cudnn/tensor.h"

namespace annulus::cpu {

// A convolution with what follows it, and the tensors that a variant pack must bring.
struct ConvTask {
  ConvProblem problem;
  Tensor a, b;  // forward: x, w. Data gradient: dy, w. Weight gradient: x, dy.
  std::optional<Tensor> bias;
  Tensor out;
};

// Checks when the descriptor is finalized; both throw BAD_PARAM.
void check_convolution_operation(const Descriptor& operation);
void check_operation_graph(const Descriptor& graph);

// Throws NOT_SUPPORTED_… unless the graph is one that the device can run: one convolution with what
// follows it, or one norm (norm_graph.h).
void require_supported_graph(const Descriptor& graph);

// The task of a finalized operation graph: one convolution, packed NHWC, then optionally a bias per
// channel and a ReLU. x, w and y have one type: float, half or bfloat16; a bias has that or float;
// what is virtual, and sums, are float. Anything else throws NOT_SUPPORTED_GRAPH_PATTERN, _LAYOUT,
// _DATA_TYPE or _SHAPE.
ConvTask conv_task_of(const Descriptor& graph);

}  // namespace annulus::cpu
