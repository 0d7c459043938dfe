// Calls kernels/dropout_cudnn.
#include "engine/layers/dropout_cudnn.h"

#include "kernels/dropout_cudnn.h"

namespace annulus {
namespace {

struct CudnnPlan final : LayerPlan {
  explicit CudnnPlan(CudnnDropoutPlan plan) : dropout(std::move(plan)) {}
  CudnnDropoutPlan dropout;
};

const CudnnDropoutPlan& plan_of(const LayerPlan* plan) {
  return static_cast<const CudnnPlan&>(*plan).dropout;
}

}  // namespace

std::size_t CudnnDropout::kept_bytes(int images) const {
  return cudnn_dropout_mask_bytes(images, in().size());
}

std::unique_ptr<LayerPlan> CudnnDropout::plan(const Device& device, const PlannedUse& use) const {
  if (!use.training) return nullptr;
  return std::make_unique<CudnnPlan>(
      CudnnDropoutPlan(device.cudnn, device.dropout_states.allocated(device.cudnn), rate_,
                       use.images, in().size(), use.precision.element));
}

void CudnnDropout::forward(const Pass& pass, const Bound& b) const {
  plan_of(b.plan).forward(pass.device.cudnn, pass.stream(), b.x, b.y, b.kept);
}

void CudnnDropout::backward(const Pass& pass, const Bound& b) const {
  if (b.dx.empty()) return;
  plan_of(b.plan).backward(pass.device.cudnn, pass.stream(), b.dy, b.dx, b.kept);
}

}  // namespace annulus
