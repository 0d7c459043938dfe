// One operation a graph.
#include "kernels/batchnorm_graph.h"

namespace annulus {

namespace graph = cudnn_graph;

namespace {

constexpr cudnnBackendNormMode_t kMode = CUDNN_BATCH_NORM;

struct Tensors {
  graph::Descriptor as_x(std::int64_t uid) const {
    return graph::nhwc_tensor(uid, shape.images, shape.channels, shape.height, shape.width,
                              graph::TensorKind::real, type);
  }
  graph::Descriptor per_channel(std::int64_t uid) const {
    return graph::channel_tensor(uid, shape.channels);
  }

  const BatchNormShape& shape;
  cudnnDataType_t type;
};

graph::Descriptor forward(const Tensors& t) {
  using namespace batchnorm_uid;
  const cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_TRAINING;
  graph::Descriptor operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  return operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &kMode)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, t.as_x(x))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, t.as_x(y))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, t.per_channel(gamma))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, t.per_channel(beta))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, graph::number_by_value(epsilon))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, t.per_channel(mean))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, t.per_channel(inv_std))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, graph::number_by_value(factor))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, t.per_channel(zero_mean))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, t.per_channel(zero_variance))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, t.per_channel(running_mean))
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, t.per_channel(running_variance))
      .finalize();
}

graph::Descriptor backward(const Tensors& t) {
  using namespace batchnorm_uid;
  graph::Descriptor operation(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
  return operation.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &kMode)
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, t.as_x(x))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, t.as_x(dy))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, t.as_x(dx))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, t.per_channel(mean))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, t.per_channel(inv_std))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, t.per_channel(gamma))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, t.per_channel(dgamma))
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, t.per_channel(dbeta))
      .finalize();
}

}  // namespace

std::vector<graph::Descriptor> batchnorm_operations(const BatchNormShape& shape, BatchNormPass pass,
                                                    Element element) {
  const Tensors tensors{shape, graph::type_of(element)};
  return {pass == BatchNormPass::forward ? forward(tensors) : backward(tensors)};
}

}  // namespace annulus
