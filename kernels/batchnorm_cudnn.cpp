// Two plans, forward and backward. The zeros that cuDNN averages the batch's statistics with lie
// behind its own workspace.
#include "kernels/batchnorm_cudnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "kernels/batchnorm_graph.h"
#include "kernels/check.h"
#include "kernels/cudnn_engines.h"

namespace annulus {

namespace graph = cudnn_graph;
namespace uid = batchnorm_uid;

namespace {

constexpr std::size_t kAlignment = 256;  // bytes: what cudaMalloc gives

struct Binding {
  std::int64_t uid;
  const void* pointer;
};

struct PlannedPass {
  PlannedPass(const CudnnHandle& handle, const BatchNormShape& shape, BatchNormPass pass,
              Element element)
      : plan(graph::plan(handle.get(), batchnorm_operations(shape, pass, element),
                         {.engines = handle.engines(), .reduced_inputs = false})),
        workspace_bytes(std::size_t(graph::workspace_bytes(plan))) {}

  void run(const CudnnHandle& handle, cudaStream_t stream, std::initializer_list<Binding> bindings,
           Span<std::byte> workspace) const {
    std::vector<std::int64_t> uids;
    std::vector<void*> pointers;
    for (const Binding& binding : bindings) {
      uids.push_back(binding.uid);
      pointers.push_back(const_cast<void*>(binding.pointer));
    }
    CUDNN_CHECK(cudnnSetStream(handle.get(), stream));
    const graph::Descriptor pack = graph::variant_pack(uids, pointers, workspace.data);
    CUDNN_CHECK(cudnnBackendExecute(handle.get(), plan.get(), pack.get()));
  }

  graph::Descriptor plan;
  std::size_t workspace_bytes;
};

}  // namespace

struct CudnnBatchNormPlan::Impl {
  Impl(const CudnnHandle& handle, const BatchNormShape& of, Element held)
      : forward(handle, of, BatchNormPass::forward, held),
        backward(handle, of, BatchNormPass::backward, held),
        shape(of),
        element(held) {}

  std::size_t zeros_offset() const {
    return (forward.workspace_bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::size_t zeros_bytes() const { return sizeof(float) * std::size_t(shape.channels); }
  std::size_t workspace_bytes() const {
    return std::max(zeros_offset() + zeros_bytes(), backward.workspace_bytes);
  }
  void expect_workspace(Span<std::byte> workspace) const {
    if (workspace.size < workspace_bytes())
      throw DeviceError(
          fmt::format("CudnnBatchNormPlan: a workspace of {} bytes, the plan needs {}",
                      workspace.size, workspace_bytes()));
  }

  PlannedPass forward, backward;
  BatchNormShape shape;
  Element element;
};

CudnnBatchNormPlan::CudnnBatchNormPlan(const CudnnHandle& handle, const BatchNormShape& shape,
                                       Element element)
    : impl_(std::make_unique<Impl>(handle, shape, element)) {}
CudnnBatchNormPlan::~CudnnBatchNormPlan() = default;
CudnnBatchNormPlan::CudnnBatchNormPlan(CudnnBatchNormPlan&&) noexcept = default;
CudnnBatchNormPlan& CudnnBatchNormPlan::operator=(CudnnBatchNormPlan&&) noexcept = default;

std::size_t CudnnBatchNormPlan::workspace_bytes() const { return impl_->workspace_bytes(); }

void CudnnBatchNormPlan::forward(const CudnnHandle& handle, cudaStream_t stream, AnyInput x,
                                 Span<const float> gamma, Span<const float> beta, Span<float> mean,
                                 Span<float> inv_std, Span<float> statistics, float weight,
                                 AnyOutput y, Span<std::byte> workspace) const {
  impl_->expect_workspace(workspace);
  require_element(impl_->element, {x, y}, "CudnnBatchNormPlan::forward");
  const std::byte* zeros = workspace.data + impl_->zeros_offset();
  CUDA_CHECK(
      cudaMemsetAsync(workspace.data + impl_->zeros_offset(), 0, impl_->zeros_bytes(), stream));
  impl_->forward.run(handle, stream,
                     {{uid::x, x.data},
                      {uid::gamma, gamma.data},
                      {uid::beta, beta.data},
                      {uid::epsilon, &impl_->shape.epsilon},
                      {uid::y, y.data},
                      {uid::mean, mean.data},
                      {uid::inv_std, inv_std.data},
                      {uid::factor, &weight},
                      {uid::zero_mean, zeros},
                      {uid::zero_variance, zeros},
                      {uid::running_mean, statistics.data},
                      {uid::running_variance, statistics.data + impl_->shape.channels}},
                     workspace);
}

void CudnnBatchNormPlan::backward(const CudnnHandle& handle, cudaStream_t stream, AnyInput x,
                                  AnyInput dy, Span<const float> mean, Span<const float> inv_std,
                                  Span<const float> gamma, AnyOutput dx, Span<float> dgamma,
                                  Span<float> dbeta, Span<std::byte> workspace) const {
  impl_->expect_workspace(workspace);
  require_element(impl_->element, {x, dy, dx}, "CudnnBatchNormPlan::backward");
  impl_->backward.run(handle, stream,
                      {{uid::x, x.data},
                       {uid::dy, dy.data},
                       {uid::mean, mean.data},
                       {uid::inv_std, inv_std.data},
                       {uid::gamma, gamma.data},
                       {uid::dx, dx.data},
                       {uid::dgamma, dgamma.data},
                       {uid::dbeta, dbeta.data}},
                      workspace);
}

}  // namespace annulus
