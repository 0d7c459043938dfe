// One graph for each ConvKind.
#include "kernels/conv_graph.h"

#include "kernels/check.h"

namespace annulus {

namespace graph = cudnn_graph;

namespace {

struct Tensors {
  graph::Descriptor x(std::int64_t uid) const {
    return graph::nhwc_tensor(uid, shape.images, shape.in_channels, shape.height, shape.width,
                              graph::TensorKind::real, type);
  }
  graph::Descriptor w(std::int64_t uid) const {
    return graph::nhwc_tensor(uid, shape.out_channels, shape.in_channels, shape.kernel_h,
                              shape.kernel_w, graph::TensorKind::real, type);
  }
  graph::Descriptor y(std::int64_t uid) const {
    return graph::nhwc_tensor(uid, shape.images, shape.out_channels, shape.out_height(),
                              shape.out_width(), graph::TensorKind::real, type);
  }
  graph::Descriptor inner_y(std::int64_t uid) const {
    return graph::nhwc_tensor(uid, shape.images, shape.out_channels, shape.out_height(),
                              shape.out_width(), graph::TensorKind::virtual_tensor);
  }
  graph::Descriptor bias() const {
    return graph::nhwc_tensor(conv_uid::bias, 1, shape.out_channels, 1, 1, graph::TensorKind::real,
                              type);
  }

  const ConvShape& shape;
  cudnnDataType_t type;
};

std::vector<graph::Descriptor> forward_with_bias(const Tensors& tensors,
                                                 const graph::Descriptor& convolution, bool relu) {
  const graph::Descriptor convolved = tensors.inner_y(conv_uid::convolved);
  const graph::Descriptor biased =
      relu ? tensors.inner_y(conv_uid::biased) : tensors.y(conv_uid::out);
  std::vector<graph::Descriptor> operations = {
      graph::convolution_forward(convolution, tensors.x(conv_uid::a), tensors.w(conv_uid::b),
                                 convolved),
      graph::pointwise(CUDNN_POINTWISE_ADD, convolved, tensors.bias(), biased)};
  if (relu) {
    operations.push_back(
        graph::pointwise(CUDNN_POINTWISE_RELU_FWD, biased, tensors.y(conv_uid::out)));
  }
  return operations;
}

}  // namespace

bool conv_has_bias(ConvKind kind) {
  return kind == ConvKind::forward_bias || kind == ConvKind::forward_bias_relu;
}

std::vector<graph::Descriptor> conv_operations(const ConvShape& shape, ConvKind kind,
                                               Element element) {
  const Tensors tensors{shape, graph::type_of(element)};
  const graph::Descriptor convolution =
      graph::convolution({shape.stride_h, shape.stride_w}, {shape.pad_h, shape.pad_w});
  switch (kind) {
    case ConvKind::forward:
      return {graph::convolution_forward(convolution, tensors.x(conv_uid::a),
                                         tensors.w(conv_uid::b), tensors.y(conv_uid::out))};
    case ConvKind::forward_bias:
      return forward_with_bias(tensors, convolution, false);
    case ConvKind::forward_bias_relu:
      return forward_with_bias(tensors, convolution, true);
    case ConvKind::data_gradient:
      return {graph::convolution_data_gradient(convolution, tensors.y(conv_uid::a),
                                               tensors.w(conv_uid::b), tensors.x(conv_uid::out))};
    case ConvKind::weight_gradient:
      return {graph::convolution_weight_gradient(convolution, tensors.x(conv_uid::a),
                                                 tensors.y(conv_uid::b), tensors.w(conv_uid::out))};
  }
  throw DeviceError("conv_operations: unknown ConvKind");
}

}  // namespace annulus
