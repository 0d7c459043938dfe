// Calls kernels/batchnorm_cudnn; what is kept for the backward pass is what our kernels keep.
#include "engine/layers/batchnorm_cudnn.h"

#include <fmt/format.h>

#include "kernels/batchnorm_cudnn.h"

namespace annulus {
namespace {

struct CudnnPlan final : LayerPlan {
  CudnnPlan(const CudnnHandle& handle, const BatchNormShape& shape, Element element)
      : batchnorm(handle, shape, element) {}
  CudnnBatchNormPlan batchnorm;
};

const CudnnBatchNormPlan& plan_of(const LayerPlan* plan) {
  return static_cast<const CudnnPlan&>(*plan).batchnorm;
}

}  // namespace

std::unique_ptr<LayerPlan> CudnnBatchNorm::plan(const Device& device, const PlannedUse& use) const {
  if (!use.training) return nullptr;
  try {
    return std::make_unique<CudnnPlan>(device.cudnn, shape(use.images), use.precision.element);
  } catch (const DeviceError& error) {
    throw UserError(ExitCode::device,
                    fmt::format("--replace batchnorm=cudnn: this device's cuDNN does not have {} "
                                "for {} images in {} ({}); leave it out",
                                name(), use.images, use.precision.name, error.what()));
  }
}

std::size_t CudnnBatchNorm::workspace_bytes(const LayerPlan* plan, int /*images*/) const {
  return plan ? plan_of(plan).workspace_bytes() : 0;
}

void CudnnBatchNorm::forward(const Pass& pass, const Bound& b) const {
  plan_of(b.plan).forward(pass.device.cudnn, pass.stream(), b.x, pass.parameter(gamma_),
                          pass.parameter(beta_), kept_mean(b), kept_inv_std(b), statistics_of(pass),
                          pass.weight_of_images, b.y, b.workspace);
}

void CudnnBatchNorm::backward(const Pass& pass, const Bound& b) const {
  plan_of(b.plan).backward(pass.device.cudnn, pass.stream(), b.x, b.dy, kept_mean(b),
                           kept_inv_std(b), pass.parameter(gamma_), b.dx, pass.gradient(gamma_),
                           pass.gradient(beta_), b.workspace);
}

}  // namespace annulus
