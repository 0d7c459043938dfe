// Reads tensors and operations out of descriptors, checks shapes, and matches the supported
// pattern.
#include "kernels/cpu/cudnn/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernels/cpu/cudnn/norm_graph.h"

namespace annulus::cpu {
namespace {

// Where an operation keeps its parts: inputs a and b as ConvTask names them, output, and the
// scaling factors.
struct ConvAttributes {
  ConvPass pass;
  cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
};

const ConvAttributes* conv_attributes(cudnnBackendDescriptorType_t type) {
  static const ConvAttributes forward = {ConvPass::forward,
                                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static const ConvAttributes data = {ConvPass::data_gradient,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static const ConvAttributes weight = {ConvPass::weight_gradient,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return &forward;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return &data;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return &weight;
    default:
      return nullptr;
  }
}

cudnnBackendAttributeName_t output_attribute(const Descriptor& operation) {
  const ConvAttributes* convolution = conv_attributes(operation.type());
  if (!convolution) return CUDNN_ATTR_OPERATION_POINTWISE_YDESC;
  if (convolution->pass == ConvPass::data_gradient) return convolution->x;
  return convolution->pass == ConvPass::weight_gradient ? convolution->w : convolution->y;
}

std::vector<DescriptorPtr> outputs_of(const Descriptor& operation) {
  return is_norm_operation(operation) ? norm_outputs(operation)
                                      : operation.children(output_attribute(operation));
}

std::array<std::int64_t, 2> pair_of(const Descriptor& convolution,
                                    cudnnBackendAttributeName_t name) {
  const auto values = convolution.values<std::int64_t>(name);
  require(values.size() == 2, CUDNN_STATUS_NOT_SUPPORTED_SHAPE,
          fmt::format("convolution descriptor: {} spatial values; the CPU device has "
                      "two-dimensional convolutions",
                      values.size()));
  return {values[0], values[1]};
}

ConvProblem conv_problem_of(const Descriptor& operation) {
  const ConvAttributes& names = *conv_attributes(operation.type());
  const Descriptor& convolution = operation.child(names.convolution);
  const Tensor x = tensor_of(operation.child(names.x)), w = tensor_of(operation.child(names.w)),
               y = tensor_of(operation.child(names.y));
  for (const Tensor* tensor : {&x, &w, &y}) {
    require(tensor->dimensions.size() == 4, CUDNN_STATUS_NOT_SUPPORTED_SHAPE,
            fmt::format("{}: tensor {} has {} dimensions, not 4", operation.name(), tensor->uid,
                        tensor->dimensions.size()));
  }
  ConvProblem problem;
  problem.pass = names.pass;
  problem.images = x.dimensions[0];
  problem.channels = x.dimensions[1];
  problem.filters = w.dimensions[0];
  problem.in = {x.dimensions[2], x.dimensions[3]};
  problem.out = {y.dimensions[2], y.dimensions[3]};
  problem.kernel = {w.dimensions[2], w.dimensions[3]};
  problem.stride = pair_of(convolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  problem.dilation = pair_of(convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS);
  problem.pad_before = pair_of(convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  problem.pad_after = pair_of(convolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  require(y.dimensions[0] == problem.images && y.dimensions[1] == problem.filters,
          CUDNN_STATUS_BAD_PARAM,
          fmt::format("{}: y is [{},{},..], x and w make it [{},{},..]", operation.name(),
                      y.dimensions[0], y.dimensions[1], problem.images, problem.filters));
  require(w.dimensions[1] > 0 && problem.channels % w.dimensions[1] == 0, CUDNN_STATUS_BAD_PARAM,
          fmt::format("{}: x has {} channels, w has {}", operation.name(), problem.channels,
                      w.dimensions[1]));
  return problem;
}

void require_supported_numbers(const Descriptor& operation) {
  const ConvAttributes& names = *conv_attributes(operation.type());
  const Descriptor& convolution = operation.child(names.convolution);
  require(convolution.value<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) ==
              CUDNN_CROSS_CORRELATION,
          CUDNN_STATUS_NOT_SUPPORTED,
          "convolution mode: the CPU device has CUDNN_CROSS_CORRELATION");
  require(operation.value<float>(names.alpha, 1.0f) == 1.0f &&
              operation.value<float>(names.beta, 0.0f) == 0.0f,
          CUDNN_STATUS_NOT_SUPPORTED, "convolution with alpha other than 1 or beta other than 0");
  require(convolution.value<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == CUDNN_DATA_FLOAT,
          CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "convolution: the CPU device sums in float");
}

const Descriptor& only_convolution(const std::vector<DescriptorPtr>& operations) {
  const Descriptor* found = nullptr;
  for (const DescriptorPtr& operation : operations) {
    if (!conv_attributes(operation->type())) continue;
    require(!found, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "a graph of two convolutions");
    found = operation.get();
  }
  require(found, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "a graph without a convolution");
  return *found;
}

// The pointwise operation that reads tensor `uid` as its X, or null.
const Descriptor* reader_of(std::int64_t uid, const std::vector<DescriptorPtr>& operations) {
  for (const DescriptorPtr& operation : operations) {
    if (operation->type() == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
        tensor_of(operation->child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)).uid == uid) {
      return operation.get();
    }
  }
  return nullptr;
}

bool is_bias_per_channel(const Tensor& bias, const Tensor& out) {
  return bias.dimensions == std::vector<std::int64_t>{1, out.dimensions[1], 1, 1};
}

void require_types(bool hold, const std::string& words) {
  require(hold, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, words);
}

// Says in the problem what the tensors hold, where the device has that.
void take_formats(ConvTask& task) {
  require_types(task.a.type == task.b.type && task.a.type == task.out.type,
                "the convolution's tensors differ in data type");
  require_types(!task.bias || task.bias->type == task.a.type || task.bias->type == CUDNN_DATA_FLOAT,
                "the bias has neither the convolution's data type nor float");
  task.problem.input = task.a.format();
  task.problem.output = task.out.format();
  if (task.bias) task.problem.bias_format = task.bias->format();
}

// Adds one pointwise operation to the task: a bias first, then a ReLU, each at most once.
void append_pointwise(ConvTask& task, const Descriptor& operation) {
  const auto mode = operation.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                        .value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const bool plain = operation.value<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1.0f) == 1.0f &&
                     operation.value<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1.0f) == 1.0f;
  const bool has_b = operation.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  if (mode == CUDNN_POINTWISE_ADD && plain && has_b && !task.bias && !task.problem.relu) {
    task.bias = tensor_of(operation.child(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
    task.problem.bias = true;
    require(is_bias_per_channel(*task.bias, task.out), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN,
            "an addition after the convolution that is not a bias [1,K,1,1]");
    require_supported(*task.bias);
  } else if (mode == CUDNN_POINTWISE_RELU_FWD && plain && !has_b && !task.problem.relu) {
    task.problem.relu = true;
  } else {
    throw CudnnFailure(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN,
                       fmt::format("pointwise mode {} at this place after a convolution; the CPU "
                                   "device has a bias, then a ReLU",
                                   int(mode)));
  }
  const Tensor y = tensor_of(operation.child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  require(y.dimensions == task.out.dimensions, CUDNN_STATUS_NOT_SUPPORTED_SHAPE,
          fmt::format("tensor {} differs in shape from the convolution's output", y.uid));
  task.out = y;
}

}  // namespace

void check_convolution_operation(const Descriptor& operation) {
  const ConvProblem problem = conv_problem_of(operation);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    require(problem.stride[axis] >= 1 && problem.dilation[axis] >= 1 &&
                problem.pad_before[axis] >= 0 && problem.pad_after[axis] >= 0,
            CUDNN_STATUS_BAD_PARAM,
            fmt::format("{}: strides and dilations are at least 1, paddings at least 0",
                        operation.name()));
    const std::int64_t reach = problem.dilation[axis] * (problem.kernel[axis] - 1) + 1;
    const std::int64_t room =
        problem.in[axis] + problem.pad_before[axis] + problem.pad_after[axis] - reach;
    require(
        room >= 0 && problem.out[axis] == room / problem.stride[axis] + 1, CUDNN_STATUS_BAD_PARAM,
        fmt::format("{}: an output of {} {} does not follow from the input's {}", operation.name(),
                    problem.out[axis], axis == 0 ? "rows" : "columns", problem.in[axis]));
  }
}

void check_operation_graph(const Descriptor& graph) {
  std::set<std::int64_t> written;
  for (const DescriptorPtr& operation : graph.children(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    for (const DescriptorPtr& output : outputs_of(*operation)) {
      const Tensor out = tensor_of(*output);
      require(written.insert(out.uid).second, CUDNN_STATUS_BAD_PARAM,
              fmt::format("operation graph: tensor {} is written twice", out.uid));
    }
  }
}

void require_supported_graph(const Descriptor& graph) {
  if (is_norm_graph(graph))
    require_norm_task(graph);
  else
    conv_task_of(graph);
}

ConvTask conv_task_of(const Descriptor& graph) {
  const auto& operations = graph.children(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const Descriptor& convolution = only_convolution(operations);
  require_supported_numbers(convolution);
  const ConvAttributes& names = *conv_attributes(convolution.type());
  const Tensor x = tensor_of(convolution.child(names.x)), w = tensor_of(convolution.child(names.w)),
               y = tensor_of(convolution.child(names.y));
  for (const Tensor* tensor : {&x, &w, &y}) require_supported(*tensor);
  require(x.dimensions[1] == w.dimensions[1], CUDNN_STATUS_NOT_SUPPORTED_SHAPE,
          fmt::format("{}: grouped convolution", convolution.name()));

  ConvTask task{conv_problem_of(convolution), x, w, std::nullopt, y};
  if (names.pass == ConvPass::data_gradient) task.a = y, task.b = w, task.out = x;
  if (names.pass == ConvPass::weight_gradient) task.a = x, task.b = y, task.out = w;

  std::size_t matched = 1;
  while (task.out.is_virtual) {
    const Descriptor* next = reader_of(task.out.uid, operations);
    require(next && names.pass == ConvPass::forward, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN,
            fmt::format("virtual tensor {} is written but not read", task.out.uid));
    require_types(task.out.type == CUDNN_DATA_FLOAT,
                  fmt::format("virtual tensor {} is not float", task.out.uid));
    append_pointwise(task, *next);
    ++matched;
  }
  require(matched == operations.size(), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN,
          "operations beside the convolution, its bias and its ReLU");
  require_supported(task.out);
  take_formats(task);
  return task;
}

}  // namespace annulus::cpu
