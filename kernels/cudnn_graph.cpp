// Builds and finalizes cuDNN backend descriptors. Alignment promised to cuDNN is 16 bytes, which
// every arena slice has.
#include "kernels/cudnn_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace annulus::cudnn_graph {
namespace {

constexpr std::int64_t kAlignment = 16;  // bytes

Descriptor pointwise_operation(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b,
                               const Descriptor& y) {
  Descriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT)
      .finalize();
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  return operation.finalize();
}

// Of an NHWC tensor, to be finalized.
Descriptor tensor_of(std::int64_t uid, std::int64_t n, std::int64_t c, std::int64_t h,
                     std::int64_t w, cudnnDataType_t type, std::int64_t alignment) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  return tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, h, w})
      .set(CUDNN_ATTR_TENSOR_STRIDES, {h * w * c, 1, w * c, c});
}

}  // namespace

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t handle = nullptr;
  CUDNN_CHECK(cudnnBackendCreateDescriptor(type, &handle));
  handle_ = {handle, [](void* h) { cudnnBackendDestroyDescriptor(h); }};
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                            std::int64_t count, const void* elements) {
  CUDNN_CHECK(cudnnBackendSetAttribute(get(), name, type, count, elements));
  return *this;
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, std::int64_t value) {
  return set(name, CUDNN_TYPE_INT64, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name,
                            std::initializer_list<std::int64_t> values) {
  return set(name, CUDNN_TYPE_INT64, std::int64_t(values.size()), values.begin());
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, float value) {
  return set(name, CUDNN_TYPE_FLOAT, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, bool value) {
  return set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  return set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnHandle_t value) {
  return set(name, CUDNN_TYPE_HANDLE, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  return set(name, std::vector<Descriptor>{value});
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name,
                            const std::vector<Descriptor>& values) {
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const Descriptor& value : values) handles.push_back(value.get());
  referred_.insert(referred_.end(), values.begin(), values.end());
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::int64_t(handles.size()), handles.data());
}

Descriptor& Descriptor::finalize() {
  CUDNN_CHECK(cudnnBackendFinalize(get()));
  return *this;
}

cudnnDataType_t type_of(Element element) {
  switch (element) {
    case Element::bf16:
      return CUDNN_DATA_BFLOAT16;
    case Element::fp16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

Descriptor nhwc_tensor(std::int64_t uid, std::int64_t n, std::int64_t c, std::int64_t h,
                       std::int64_t w, TensorKind kind, cudnnDataType_t type) {
  Descriptor tensor = tensor_of(uid, n, c, h, w, type, kAlignment);
  if (kind == TensorKind::virtual_tensor) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  return tensor.finalize();
}

Descriptor channel_tensor(std::int64_t uid, std::int64_t c) {
  return tensor_of(uid, 1, c, 1, 1, CUDNN_DATA_FLOAT, sizeof(float)).finalize();
}

Descriptor number_by_value(std::int64_t uid) {
  return tensor_of(uid, 1, 1, 1, 1, CUDNN_DATA_FLOAT, sizeof(float))
      .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true)
      .finalize();
}

Descriptor convolution(Pair stride, Pair pad) {
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  return convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t(2))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1})
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {stride.h, stride.w})
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {pad.h, pad.w})
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {pad.h, pad.w})
      .finalize();
}

Descriptor convolution_forward(const Descriptor& convolution, const Descriptor& x,
                               const Descriptor& w, const Descriptor& y) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  return operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f)
      .finalize();
}

Descriptor convolution_data_gradient(const Descriptor& convolution, const Descriptor& dy,
                                     const Descriptor& w, const Descriptor& dx) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  return operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, convolution)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, dy)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, w)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, dx)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0f)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0f)
      .finalize();
}

Descriptor convolution_weight_gradient(const Descriptor& convolution, const Descriptor& x,
                                       const Descriptor& dy, const Descriptor& dw) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  return operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, convolution)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, dy)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, dw)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0f)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0f)
      .finalize();
}

Descriptor pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor& y) {
  return pointwise_operation(mode, x, nullptr, y);
}

Descriptor pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor& b,
                     const Descriptor& y) {
  return pointwise_operation(mode, x, &b, y);
}

Descriptor operation_graph(const std::vector<Descriptor>& operations, cudnnHandle_t handle) {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  return graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations).finalize();
}

std::int64_t workspace_bytes(const Descriptor& plan) {
  std::int64_t bytes = 0, count = 0;
  CUDNN_CHECK(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                       CUDNN_TYPE_INT64, 1, &count, &bytes));
  return bytes;
}

Descriptor variant_pack(const std::vector<std::int64_t>& uids, const std::vector<void*>& pointers,
                        void* workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  return pack
      .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, std::int64_t(uids.size()),
           uids.data())
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           std::int64_t(pointers.size()), pointers.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
      .finalize();
}

}  // namespace annulus::cudnn_graph
