// BatchNorm whose training passes are cuDNN's; evaluation is ours. Nothing is fused into it: the
// model builder lets layers of their own follow, with memory of their own. Not for passes with an
// exchange.
#pragma once

#include "engine/layers/batchnorm.h"

namespace annulus {

class CudnnBatchNorm final : public BatchNorm {
 public:
  CudnnBatchNorm(const std::string& name, ImageShape in, float epsilon)
      : BatchNorm(name, in, Activation::none, false, epsilon) {}

  std::optional<BatchNormShape> cudnn_batchnorm(int images) const override { return shape(images); }
  // Throws UserError (device) where this device's cuDNN does not have it.
  std::unique_ptr<LayerPlan> plan(const Device&, const PlannedUse& use) const override;
  std::size_t workspace_bytes(const LayerPlan* plan, int images) const override;
  void forward(const Pass& pass, const Bound& b) const override;
  void backward(const Pass& pass, const Bound& b) const override;
};

}  // namespace annulus
