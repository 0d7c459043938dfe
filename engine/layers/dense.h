// Dense: y[N,out] = x[N,in] * W^T + bias, weights [out,in], through cuBLAS. Its input may be any
// [H,W,C]: NHWC memory is already the row that Flatten would make.
#pragma once

#include "engine/layer.h"

namespace annulus {

class Dense final : public Layer {
 public:
  Dense(const std::string& name, ImageShape in, int units, Init init);

  std::vector<Parameter*> parameters() override { return {&weight_, &bias_}; }
  double forward_flops() const override { return 2.0 * double(inputs()) * out().channels; }
  std::size_t workspace_bytes(const LayerPlan*, int images) const override;
  void forward(const Pass& pass, const Bound& b) const override;
  void backward(const Pass& pass, const Bound& b) const override;

 private:
  int inputs() const { return static_cast<int>(in().size()); }
  Parameter weight_, bias_;
};

}  // namespace annulus
