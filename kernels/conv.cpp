// Convolution plans: one cuDNN graph for each ConvKind, and running it.
#include "kernels/conv.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "kernels/check.h"
#include "kernels/cudnn_graph.h"

namespace annulus {

namespace graph = cudnn_graph;

CudnnHandle::CudnnHandle() { CUDNN_CHECK(cudnnCreate(&handle_)); }
CudnnHandle::~CudnnHandle() {
  if (handle_) cudnnDestroy(handle_);
}
CudnnHandle::CudnnHandle(CudnnHandle&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

namespace {

// Names of the graphs' tensors: a, b and out as ConvKind's comments order them.
enum Uid : std::int64_t { kA = 1, kB, kBias, kOut, kConvolved, kBiased };

struct Tensors {
  graph::Descriptor x(std::int64_t uid) const {
    return graph::nhwc_tensor(uid, shape.images, shape.in_channels, shape.height, shape.width);
  }
  graph::Descriptor w(std::int64_t uid) const {
    return graph::nhwc_tensor(uid, shape.out_channels, shape.in_channels, shape.kernel_h,
                              shape.kernel_w);
  }
  graph::Descriptor y(std::int64_t uid, graph::TensorKind kind = graph::TensorKind::real) const {
    return graph::nhwc_tensor(uid, shape.images, shape.out_channels, shape.out_height(),
                              shape.out_width(), kind);
  }
  graph::Descriptor bias() const { return graph::nhwc_tensor(kBias, 1, shape.out_channels, 1, 1); }

  const ConvShape& shape;
};

bool has_bias(ConvKind kind) {
  return kind == ConvKind::forward_bias || kind == ConvKind::forward_bias_relu;
}

std::vector<graph::Descriptor> forward_with_bias(const Tensors& tensors,
                                                 const graph::Descriptor& convolution, bool relu) {
  const auto inner = graph::TensorKind::virtual_tensor;
  const graph::Descriptor convolved = tensors.y(kConvolved, inner);
  const graph::Descriptor biased = relu ? tensors.y(kBiased, inner) : tensors.y(kOut);
  std::vector<graph::Descriptor> operations = {
      graph::convolution_forward(convolution, tensors.x(kA), tensors.w(kB), convolved),
      graph::pointwise(CUDNN_POINTWISE_ADD, convolved, tensors.bias(), biased)};
  if (relu) {
    operations.push_back(graph::pointwise(CUDNN_POINTWISE_RELU_FWD, biased, tensors.y(kOut)));
  }
  return operations;
}

std::vector<graph::Descriptor> operations_of(const ConvShape& shape, ConvKind kind) {
  const Tensors tensors{shape};
  const graph::Descriptor convolution =
      graph::convolution({shape.stride_h, shape.stride_w}, {shape.pad_h, shape.pad_w});
  switch (kind) {
    case ConvKind::forward:
      return {
          graph::convolution_forward(convolution, tensors.x(kA), tensors.w(kB), tensors.y(kOut))};
    case ConvKind::forward_bias:
      return forward_with_bias(tensors, convolution, false);
    case ConvKind::forward_bias_relu:
      return forward_with_bias(tensors, convolution, true);
    case ConvKind::data_gradient:
      return {graph::convolution_data_gradient(convolution, tensors.y(kA), tensors.w(kB),
                                               tensors.x(kOut))};
    case ConvKind::weight_gradient:
      return {graph::convolution_weight_gradient(convolution, tensors.x(kA), tensors.y(kB),
                                                 tensors.w(kOut))};
  }
  throw DeviceError("ConvPlan: unknown ConvKind");
}

}  // namespace

struct ConvPlan::Impl {
  graph::Descriptor plan;
  std::size_t workspace_bytes;
  bool bias;
};

ConvPlan::ConvPlan(const CudnnHandle& handle, const ConvShape& shape, ConvKind kind) {
  const graph::Descriptor plan = graph::plan(handle.get(), operations_of(shape, kind));
  impl_ =
      std::make_unique<Impl>(Impl{plan, std::size_t(graph::workspace_bytes(plan)), has_bias(kind)});
}

ConvPlan::~ConvPlan() = default;
ConvPlan::ConvPlan(ConvPlan&&) noexcept = default;
ConvPlan& ConvPlan::operator=(ConvPlan&&) noexcept = default;

std::size_t ConvPlan::workspace_bytes() const { return impl_->workspace_bytes; }

void ConvPlan::run(const CudnnHandle& handle, cudaStream_t stream, Span<const float> a,
                   Span<const float> b, Span<const float> bias, Span<float> out,
                   Span<std::byte> workspace) const {
  if (workspace.size < impl_->workspace_bytes) {
    throw DeviceError(fmt::format("ConvPlan::run: a workspace of {} bytes, the plan needs {}",
                                  workspace.size, impl_->workspace_bytes));
  }
  std::vector<std::int64_t> uids = {kA, kB, kOut};
  std::vector<void*> pointers = {const_cast<float*>(a.data), const_cast<float*>(b.data), out.data};
  if (impl_->bias) {
    uids.push_back(kBias);
    pointers.push_back(const_cast<float*>(bias.data));
  }
  CUDNN_CHECK(cudnnSetStream(handle.get(), stream));
  const graph::Descriptor pack = graph::variant_pack(uids, pointers, workspace.data);
  CUDNN_CHECK(cudnnBackendExecute(handle.get(), impl_->plan.get(), pack.get()));
}

}  // namespace annulus
