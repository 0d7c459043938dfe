// Reads tensors out of their descriptors, and says which ones the device can work on.
#include "kernels/cpu/cudnn/tensor.h"

#include <fmt/format.h>

#include <array>

namespace annulus::cpu {
namespace {

bool is_half(cudnnDataType_t type) {
  return type == CUDNN_DATA_BFLOAT16 || type == CUDNN_DATA_HALF;
}

// Packed with the channel fastest; a dimension of one element may have any stride.
bool is_packed_channels_last(const Tensor& tensor) {
  const auto& d = tensor.dimensions;
  const std::array<std::int64_t, 4> packed = {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]};
  for (std::size_t axis = 0; axis < packed.size(); ++axis) {
    if (d[axis] > 1 && tensor.strides[axis] != packed[axis]) return false;
  }
  return true;
}

}  // namespace

std::size_t Tensor::elements() const {
  std::size_t product = 1;
  for (std::int64_t dimension : dimensions) product *= std::size_t(dimension);
  return product;
}

std::size_t Tensor::bytes() const { return elements() * (is_half(type) ? 2 : sizeof(float)); }

Format Tensor::format() const {
  if (type == CUDNN_DATA_BFLOAT16) return Format::bf16;
  return type == CUDNN_DATA_HALF ? Format::fp16 : Format::fp32;
}

Tensor tensor_of(const Descriptor& descriptor) {
  return {descriptor.value<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID),
          descriptor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
          descriptor.values<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
          descriptor.values<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES),
          descriptor.value<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT),
          descriptor.value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)};
}

void check_tensor(const Descriptor& descriptor) {
  const Tensor tensor = tensor_of(descriptor);
  require(tensor.dimensions.size() == tensor.strides.size(), CUDNN_STATUS_BAD_PARAM,
          fmt::format("tensor {}: {} dimensions but {} strides", tensor.uid,
                      tensor.dimensions.size(), tensor.strides.size()));
  for (std::int64_t dimension : tensor.dimensions) {
    require(dimension >= 1, CUDNN_STATUS_BAD_PARAM,
            fmt::format("tensor {}: a dimension of {}", tensor.uid, dimension));
  }
  require(tensor.alignment >= 1, CUDNN_STATUS_BAD_PARAM,
          fmt::format("tensor {}: an alignment of {} bytes", tensor.uid, tensor.alignment));
}

void require_supported(const Tensor& tensor) {
  require(tensor.dimensions.size() == 4, CUDNN_STATUS_NOT_SUPPORTED_SHAPE,
          fmt::format("tensor {} has {} dimensions, not 4", tensor.uid, tensor.dimensions.size()));
  require(tensor.type == CUDNN_DATA_FLOAT || is_half(tensor.type),
          CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
          fmt::format("tensor {} has data type {}; the CPU device has float, half and bfloat16",
                      tensor.uid, int(tensor.type)));
  require(is_packed_channels_last(tensor), CUDNN_STATUS_NOT_SUPPORTED_LAYOUT,
          fmt::format("tensor {} is not packed NHWC; lay channels out fastest", tensor.uid));
}

}  // namespace annulus::cpu
