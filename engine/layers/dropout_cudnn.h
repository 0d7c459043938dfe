// Dropout by cuDNN. Its masks come from generator states that all such layers of a device share,
// and are kept for the backward pass: other than ours they depend on how many ranks there are
// (docs/numerics.md).
#pragma once

#include "engine/layers/pointwise.h"

namespace annulus {

class CudnnDropout final : public Dropout {
 public:
  using Dropout::Dropout;
  bool in_place() const override { return false; }
  std::size_t kept_bytes(int images) const override;  // the mask
  std::unique_ptr<LayerPlan> plan(const Device&, const PlannedUse& use) const override;
  void forward(const Pass& pass, const Bound& b) const override;
  void backward(const Pass& pass, const Bound& b) const override;
};

}  // namespace annulus
