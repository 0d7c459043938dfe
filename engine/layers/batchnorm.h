// BatchNorm, with the activation and the 2x2 max-pool that follow it fused in where the model has
// them. Batch statistics are this rank's own; weighted by its share of the global batch they ride
// along with the gradients, so that the running statistics come out the same on every rank
// (docs/numerics.md). In a pass with an exchange they are those of all ranks' images.
#pragma once

#include "engine/layer.h"
#include "kernels/batchnorm.h"

namespace annulus {

class BatchNorm : public Layer {
 public:
  BatchNorm(const std::string& name, ImageShape in, Activation activation, bool pool,
            float epsilon);

  std::vector<Parameter*> parameters() override { return {&gamma_, &beta_}; }
  std::size_t statistics() const override { return 2 * std::size_t(in().channels); }
  bool always_writes_dx() const override { return true; }
  void set_statistics(Slice slice) override { statistics_ = slice; }
  std::size_t kept_bytes(int) const override { return 2 * channels() * sizeof(float); }
  std::size_t workspace_bytes(const LayerPlan*, int images) const override;
  void forward(const Pass& pass, const Bound& b) const override;
  void inference(const Pass& pass, const Bound& b) const override;
  void backward(const Pass& pass, const Bound& b) const override;
  void forward_without_images(const Pass& pass) const override;
  void backward_without_images(const Pass& pass) const override;
  std::size_t exchange_floats(int ranks) const override;

 protected:
  BatchNormShape shape(int images) const;
  Span<float> kept_mean(const Bound& b) const {
    return {reinterpret_cast<float*>(b.kept.data), channels()};
  }
  Span<float> kept_inv_std(const Bound& b) const {
    return {kept_mean(b).data + channels(), channels()};
  }
  Span<float> statistics_of(const Pass& pass) const {
    return pass.statistics.subspan(statistics_.offset, statistics_.size);
  }

  Parameter gamma_, beta_;

 private:
  std::size_t channels() const { return std::size_t(in().channels); }
  Span<float> exchange_moments(const Pass& pass, const Bound* b) const;
  Span<float> exchange_sums(const Pass& pass, Span<const float> dgamma,
                            Span<const float> dbeta) const;

  Activation activation_;
  bool pool_;
  float epsilon_;
  Slice statistics_;  // {means, variances} of this layer in Pass::statistics and Pass::running
};

}  // namespace annulus
