// Conv2D: any kernel, stride and padding, with or without a bias, through cuDNN. Weights [K,R,S,C].
#pragma once

#include "engine/layer.h"

namespace annulus {

struct ConvOptions {
  int filters, kernel;
  int stride = 1;
  int padding = 0;
  bool bias = true;
};

class Conv2D final : public Layer {
 public:
  Conv2D(const std::string& name, ImageShape in, const ConvOptions& options, Init init);

  std::vector<Parameter*> parameters() override;
  double forward_flops() const override { return shape(1).flops(); }
  std::vector<ConvCall> convolutions(int images, bool needs_dx) const override;
  std::unique_ptr<LayerPlan> plan(const Device&, const PlannedUse& use) const override;
  std::size_t workspace_bytes(const LayerPlan* plan, int images) const override;
  void forward(const Pass& pass, const Bound& b) const override;
  void backward(const Pass& pass, const Bound& b) const override;

 private:
  ConvShape shape(int images) const;
  ConvKind forward_kind() const {
    return options_.bias ? ConvKind::forward_bias : ConvKind::forward;
  }

  ConvOptions options_;
  Parameter weight_, bias_;
};

}  // namespace annulus
