// The table of descriptors and their attributes, and the store that enforces it.
#include "kernels/cpu/cudnn/descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace annulus::cpu {
namespace {

struct AttributeRule {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  std::int64_t most;  // elements
  bool required;
};

struct DescriptorRule {
  cudnnBackendDescriptorType_t type;
  const char* name;
  std::vector<AttributeRule> attributes;
};

constexpr bool kRequired = true, kOptional = false;
constexpr std::int64_t kAnyNumber = 1 << 16;

const std::vector<DescriptorRule>& rules() {
  static const std::vector<DescriptorRule> table = {
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR,
       "tensor",
       {{CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, kRequired},
        {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
        {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired},
        {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired},
        {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, kRequired},
        {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, kOptional},
        {CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, kOptional}}},
      {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
       "convolution",
       {{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
        {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, kRequired},
        {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, kRequired},
        {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired},
        {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired},
        {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired},
        {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired}}},
      {CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
       "pointwise",
       {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, kRequired},
        {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, kRequired}}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       "convolution forward operation",
       {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, kOptional},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, kOptional}}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       "convolution backward data operation",
       {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1, kOptional},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, kOptional}}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       "convolution backward filter operation",
       {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kRequired},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1, kOptional},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 1, kOptional}}},
      {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
       "pointwise operation",
       {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kOptional},
        {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1, kOptional},
        {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, kOptional}}},
      {CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR,
       "norm forward operation",
       {{CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kRequired},
        {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kOptional},
        {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kOptional},
        {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kOptional},
        {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kOptional},
        {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kOptional},
        {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kOptional},
        {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired}}},
      {CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR,
       "norm backward operation",
       {{CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1, kOptional},
        {CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
         kRequired},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kOptional},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired}}},
      {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
       "operation graph",
       {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, kOptional},
        {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kAnyNumber, kRequired}}},
      {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
       "engine heuristics",
       {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, kRequired}}},
      {CUDNN_BACKEND_ENGINE_DESCRIPTOR,
       "engine",
       {{CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired},
        {CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, kRequired}}},
      {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
       "engine configuration",
       {{CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired}}},
      {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
       "execution plan",
       {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, kOptional},
        {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kRequired}}},
      {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
       "variant pack",
       {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, kAnyNumber, kRequired},
        {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, kAnyNumber, kRequired},
        {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, kOptional}}},
  };
  return table;
}

const DescriptorRule& rule_of(cudnnBackendDescriptorType_t type) {
  const auto& table = rules();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const DescriptorRule& rule) { return rule.type == type; });
  require(found != table.end(), CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
          fmt::format("descriptor type {} is not one that the CPU device has", int(type)));
  return *found;
}

const AttributeRule& rule_of(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type) {
  const auto& attributes = rule_of(descriptor.type()).attributes;
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const AttributeRule& rule) { return rule.name == name; });
  require(found != attributes.end(), CUDNN_STATUS_BAD_PARAM,
          fmt::format("{} descriptor: it has no attribute {}", descriptor.name(), int(name)));
  require(found->type == type, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
          fmt::format("{} descriptor: attribute {} has elements of type {}, not {}",
                      descriptor.name(), int(name), int(found->type), int(type)));
  return *found;
}

std::size_t element_size(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
      return sizeof(std::int64_t);
    case CUDNN_TYPE_DOUBLE:
      return sizeof(double);
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return sizeof(void*);
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    default:
      return sizeof(int);  // float and the enumerations
  }
}

}  // namespace

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) : type_(type) { rule_of(type); }

const char* Descriptor::name() const { return rule_of(type_).name; }

void Descriptor::set(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
                     std::int64_t count, const void* elements) {
  require(!finalized_, CUDNN_STATUS_BAD_PARAM,
          fmt::format("{} descriptor: attribute {} set after finalize; make a new descriptor",
                      name(), int(attribute)));
  const AttributeRule& rule = rule_of(*this, attribute, type);
  require(elements != nullptr, CUDNN_STATUS_BAD_PARAM,
          fmt::format("{} descriptor: attribute {} set from a null array", name(), int(attribute)));
  require(count >= 1 && count <= rule.most, CUDNN_STATUS_BAD_PARAM,
          fmt::format("{} descriptor: attribute {} takes 1 to {} elements, not {}", name(),
                      int(attribute), rule.most, count));
  Attribute stored;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* handles = static_cast<const cudnnBackendDescriptor_t*>(elements);
    for (std::int64_t i = 0; i < count; ++i) stored.children.push_back(descriptor_of(handles[i]));
  } else {
    const auto* bytes = static_cast<const std::byte*>(elements);
    stored.bytes.assign(bytes, bytes + std::size_t(count) * element_size(type));
  }
  attributes_[attribute] = std::move(stored);
}

std::int64_t Descriptor::get(cudnnBackendAttributeName_t attribute,
                             cudnnBackendAttributeType_t type, std::int64_t requested,
                             void* elements) const {
  rule_of(*this, attribute, type);
  require(type != CUDNN_TYPE_BACKEND_DESCRIPTOR, CUDNN_STATUS_NOT_SUPPORTED,
          fmt::format("{} descriptor: attribute {} cannot be read back as descriptors", name(),
                      int(attribute)));
  const auto found = attributes_.find(attribute);
  if (found == attributes_.end()) return 0;
  const std::size_t size = element_size(type);
  const auto stored = std::int64_t(found->second.bytes.size() / size);
  if (!elements || requested == 0) return stored;
  const std::int64_t copied = std::min(requested, stored);
  std::memcpy(elements, found->second.bytes.data(), std::size_t(copied) * size);
  return copied;
}

void Descriptor::require_complete() const {
  for (const AttributeRule& rule : rule_of(type_).attributes) {
    if (rule.required) {
      require(
          has(rule.name), CUDNN_STATUS_BAD_PARAM,
          fmt::format("{} descriptor: required attribute {} is not set", name(), int(rule.name)));
    }
    for (const DescriptorPtr& child : children(rule.name)) {
      require(child->finalized(), CUDNN_STATUS_BAD_PARAM,
              fmt::format("{} descriptor: attribute {} refers to a {} descriptor that is not "
                          "finalized",
                          name(), int(rule.name), child->name()));
    }
  }
}

const std::vector<DescriptorPtr>& Descriptor::children(
    cudnnBackendAttributeName_t attribute) const {
  static const std::vector<DescriptorPtr> none;
  const auto found = attributes_.find(attribute);
  return found == attributes_.end() ? none : found->second.children;
}

DescriptorPtr descriptor_of(cudnnBackendDescriptor_t handle) {
  require(handle != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a null descriptor");
  return static_cast<DescriptorHandle*>(handle)->descriptor;
}

}  // namespace annulus::cpu
