// Reads norm operations out of descriptors.
#include "kernels/cpu/cudnn/norm_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace annulus::cpu {
namespace {

using Names = std::vector<cudnnBackendAttributeName_t>;

// The attributes of one direction by the shape that they must have.
struct NormAttributes {
  cudnnBackendAttributeName_t x;
  Names like_x, per_channel, by_value, outputs;
};

const NormAttributes& attributes_of(const Descriptor& operation) {
  static const NormAttributes forward = {
      CUDNN_ATTR_OPERATION_NORM_FWD_XDESC,
      {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC},
      {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC,
       CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC,
       CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC,
       CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC,
       CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC,
       CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC},
      {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC,
       CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC},
      {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC,
       CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC,
       CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC,
       CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC}};
  static const NormAttributes backward = {
      CUDNN_ATTR_OPERATION_NORM_BWD_XDESC,
      {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC},
      {CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC,
       CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
       CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC},
      {},
      {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
       CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC}};
  return operation.type() == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR ? forward : backward;
}

void require_dimensions(const Descriptor& operation, const Names& names,
                        const std::vector<std::int64_t>& dimensions) {
  for (const cudnnBackendAttributeName_t name : names) {
    if (!operation.has(name)) continue;
    const Tensor tensor = tensor_of(operation.child(name));
    require(
        tensor.dimensions == dimensions, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
        fmt::format("{}: tensor {} does not have the shape that x asks for: as x, or one value a "
                    "channel",
                    operation.name(), tensor.uid));
  }
}

bool is_by_value(const Descriptor& tensor) {
  return tensor.value<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
}

// The operation of a graph that holds nothing else.
const Descriptor& only_operation(const Descriptor& graph) {
  const auto& operations = graph.children(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  require(operations.size() == 1, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN,
          "operations beside a norm; the CPU device has it alone");
  return *operations.front();
}

// x and what is like x are all of one type; statistics, scale and bias are float.
Tensor supported_tensor(const Descriptor& operation, cudnnBackendAttributeName_t name) {
  require(operation.has(name), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN,
          fmt::format("{}: without attribute {}", operation.name(), int(name)));
  Tensor tensor = tensor_of(operation.child(name));
  require_supported(tensor);
  const NormAttributes& names = attributes_of(operation);
  const bool like_x = name == names.x || std::ranges::count(names.like_x, name) > 0;
  const cudnnDataType_t type = like_x ? tensor_of(operation.child(names.x)).type : CUDNN_DATA_FLOAT;
  require(tensor.type == type && !tensor.is_virtual, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
          fmt::format("{}: tensor {} is not {} in memory", operation.name(), tensor.uid,
                      like_x ? "of x's type" : "float"));
  return tensor;
}

void require_batch_norm(const Descriptor& operation, cudnnBackendAttributeName_t mode) {
  require(operation.value<cudnnBackendNormMode_t>(mode, CUDNN_LAYER_NORM) == CUDNN_BATCH_NORM,
          CUDNN_STATUS_NOT_SUPPORTED, "norm mode: the CPU device has CUDNN_BATCH_NORM");
}

// All five of them, or none.
std::optional<NormForwardTask::Running> running_of(const Descriptor& operation) {
  constexpr std::array names = {CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC,
                                CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC,
                                CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC,
                                CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC,
                                CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC};
  if (std::ranges::none_of(names, [&](auto name) { return operation.has(name); }))
    return std::nullopt;
  return NormForwardTask::Running{
      supported_tensor(operation, names[0]), supported_tensor(operation, names[1]),
      supported_tensor(operation, names[2]), supported_tensor(operation, names[3]),
      supported_tensor(operation, names[4])};
}

}  // namespace

bool is_norm_operation(const Descriptor& operation) {
  return operation.type() == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR ||
         operation.type() == CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR;
}

bool is_norm_graph(const Descriptor& graph) {
  const auto& operations = graph.children(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  return std::ranges::any_of(
      operations, [](const DescriptorPtr& operation) { return is_norm_operation(*operation); });
}

std::vector<DescriptorPtr> norm_outputs(const Descriptor& operation) {
  std::vector<DescriptorPtr> outputs;
  for (const cudnnBackendAttributeName_t name : attributes_of(operation).outputs)
    for (const DescriptorPtr& output : operation.children(name)) outputs.push_back(output);
  return outputs;
}

void check_norm_operation(const Descriptor& operation) {
  const NormAttributes& names = attributes_of(operation);
  const Tensor x = tensor_of(operation.child(names.x));
  require(x.dimensions.size() >= 2, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
          fmt::format("{}: x has no channels", operation.name()));
  std::vector<std::int64_t> per_channel(x.dimensions.size(), 1);
  per_channel[1] = x.dimensions[1];
  require_dimensions(operation, names.like_x, x.dimensions);
  require_dimensions(operation, names.per_channel, per_channel);
  for (const cudnnBackendAttributeName_t name : names.by_value)
    require(!operation.has(name) || is_by_value(operation.child(name)), CUDNN_STATUS_BAD_PARAM,
            fmt::format("{}: attribute {} is a number that is passed by value", operation.name(),
                        int(name)));
}

std::optional<NormForwardTask> norm_forward_task(const Descriptor& graph) {
  const Descriptor& operation = only_operation(graph);
  if (operation.type() != CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR) return std::nullopt;
  require_batch_norm(operation, CUDNN_ATTR_OPERATION_NORM_FWD_MODE);
  require(operation.value<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) ==
              CUDNN_NORM_FWD_TRAINING,
          CUDNN_STATUS_NOT_SUPPORTED, "norm phase: the CPU device has CUDNN_NORM_FWD_TRAINING");
  const auto tensor = [&](auto name) { return supported_tensor(operation, name); };
  return NormForwardTask{.x = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC),
                         .scale = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC),
                         .bias = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC),
                         .epsilon = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC),
                         .y = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC),
                         .mean = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC),
                         .inv_variance = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC),
                         .running = running_of(operation)};
}

std::optional<NormBackwardTask> norm_backward_task(const Descriptor& graph) {
  const Descriptor& operation = only_operation(graph);
  if (operation.type() != CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR) return std::nullopt;
  require_batch_norm(operation, CUDNN_ATTR_OPERATION_NORM_BWD_MODE);
  const auto tensor = [&](auto name) { return supported_tensor(operation, name); };
  return NormBackwardTask{.x = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC),
                          .dy = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC),
                          .mean = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC),
                          .inv_variance = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC),
                          .scale = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC),
                          .dx = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC),
                          .dscale = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC),
                          .dbias = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC)};
}

void require_norm_task(const Descriptor& graph) {
  if (!norm_forward_task(graph)) norm_backward_task(graph);
}

}  // namespace annulus::cpu
