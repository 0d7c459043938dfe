// Convolution plans: the graph of a ConvKind, planned once, and running it. What is fp32 for the
// caller and a half for cuDNN, the bias and the weight gradient, is cast in the workspace.
#include "kernels/conv.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "kernels/cast.h"
#include "kernels/check.h"
#include "kernels/conv_graph.h"
#include "kernels/cudnn_engines.h"

namespace annulus {

namespace graph = cudnn_graph;

CudnnHandle::CudnnHandle(Engines engines) : engines_(engines) {
  CUDNN_CHECK(cudnnCreate(&handle_));
}
CudnnHandle::~CudnnHandle() {
  if (handle_) cudnnDestroy(handle_);
}
CudnnHandle::CudnnHandle(CudnnHandle&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), engines_(other.engines_) {}

struct ConvPlan::Impl {
  Element element;  // of a and b, and of what cuDNN reads and writes
  ConvKind kind;
  graph::Descriptor plan;
  std::size_t cudnn_workspace;  // bytes; behind them the half copy of bias or gradient
  std::size_t half_copy;        // elements

  bool casts_bias() const { return element != Element::fp32 && conv_has_bias(kind); }
  bool casts_gradient() const {
    return element != Element::fp32 && kind == ConvKind::weight_gradient;
  }
  void require_elements(AnyInput a, AnyInput b, AnyOutput out) const;
};

namespace {

// Of what lies behind cuDNN's own workspace; more than the graph promises (cudnn_graph.cpp).
constexpr std::size_t kAlignment = 256;  // bytes

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

void ConvPlan::Impl::require_elements(AnyInput a, AnyInput b, AnyOutput out) const {
  const Element written = casts_gradient() ? Element::fp32 : element;
  if (a.element == element && b.element == element && out.element == written) return;
  throw DeviceError(
      fmt::format("ConvPlan::run: a, b, out hold {}, {}, {}; the plan takes {}, {}, {}",
                  name_of(a.element), name_of(b.element), name_of(out.element), name_of(element),
                  name_of(element), name_of(written)));
}

ConvPlan::ConvPlan(const CudnnHandle& handle, const ConvShape& shape, ConvKind kind,
                   const Precision& precision) {
  const graph::EngineRule rule{.engines = handle.engines(),
                               .reduced_inputs = precision.reduced_inputs};
  const graph::Descriptor plan =
      graph::plan(handle.get(), conv_operations(shape, kind, precision.element), rule);
  impl_ = std::make_unique<Impl>(Impl{.element = precision.element,
                                      .kind = kind,
                                      .plan = plan,
                                      .cudnn_workspace = std::size_t(graph::workspace_bytes(plan)),
                                      .half_copy = 0});
  if (impl_->casts_bias()) impl_->half_copy = std::size_t(shape.out_channels);
  if (impl_->casts_gradient()) impl_->half_copy = shape.w_size();
}

ConvPlan::~ConvPlan() = default;
ConvPlan::ConvPlan(ConvPlan&&) noexcept = default;
ConvPlan& ConvPlan::operator=(ConvPlan&&) noexcept = default;

std::size_t ConvPlan::workspace_bytes() const {
  if (impl_->half_copy == 0) return impl_->cudnn_workspace;
  return aligned(impl_->cudnn_workspace) + impl_->half_copy * bytes_of(impl_->element);
}

void ConvPlan::run(const CudnnHandle& handle, cudaStream_t stream, AnyInput a, AnyInput b,
                   Span<const float> bias, AnyOutput out, Span<std::byte> workspace) const {
  if (workspace.size < workspace_bytes()) {
    throw DeviceError(fmt::format("ConvPlan::run: a workspace of {} bytes, the plan needs {}",
                                  workspace.size, workspace_bytes()));
  }
  impl_->require_elements(a, b, out);
  const AnyOutput half_copy(workspace.data + aligned(impl_->cudnn_workspace), impl_->half_copy,
                            impl_->element);
  if (impl_->casts_bias()) cast_to_half(stream, bias, half_copy);

  std::vector<std::int64_t> uids = {conv_uid::a, conv_uid::b, conv_uid::out};
  std::vector<void*> pointers = {const_cast<void*>(a.data), const_cast<void*>(b.data),
                                 impl_->casts_gradient() ? half_copy.data : out.data};
  if (conv_has_bias(impl_->kind)) {
    uids.push_back(conv_uid::bias);
    pointers.push_back(impl_->casts_bias() ? half_copy.data : const_cast<float*>(bias.data));
  }
  CUDNN_CHECK(cudnnSetStream(handle.get(), stream));
  const graph::Descriptor pack = graph::variant_pack(uids, pointers, workspace.data);
  CUDNN_CHECK(cudnnBackendExecute(handle.get(), impl_->plan.get(), pack.get()));

  if (impl_->casts_gradient()) cast_to_float(stream, half_copy, out.as<float>());
}

}  // namespace annulus
