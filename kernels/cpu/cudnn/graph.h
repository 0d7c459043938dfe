// From descriptors to a task: what the tensors and operations of a graph mean, and whether the one
// engine of the CPU device can run it. Called by api.cpp when descriptors are finalized.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/cudnn/conv_problem.h"
#include "kernels/cpu/cudnn/descriptor.h"

namespace annulus::cpu {

struct Tensor {
  std::int64_t uid = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> dimensions, strides;  // N, C, H, W whatever the layout
  std::int64_t alignment = 1;
  bool is_virtual = false;

  std::size_t elements() const;
  std::size_t bytes() const;
};

// A convolution with what follows it, and the tensors that a variant pack must bring.
struct ConvTask {
  ConvProblem problem;
  Tensor a, b;  // forward: x, w. Data gradient: dy, w. Weight gradient: x, dy.
  std::optional<Tensor> bias;
  Tensor out;
};

// Checks when the descriptor is finalized; all throw BAD_PARAM.
void check_tensor(const Descriptor& tensor);
void check_convolution_operation(const Descriptor& operation);
void check_operation_graph(const Descriptor& graph);

// The task of a finalized operation graph: one convolution, packed NHWC, fp32, then optionally a
// bias per channel and a ReLU. Anything else throws NOT_SUPPORTED_GRAPH_PATTERN, _LAYOUT,
// _DATA_TYPE or _SHAPE.
ConvTask conv_task_of(const Descriptor& graph);

}  // namespace annulus::cpu
