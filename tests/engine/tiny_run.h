// A model on random images with the loss <logits, r>, r fixed and random: what the gradient tests
// differentiate. Used by layer_gradient_test and plan_test.
#pragma once

#include "engine/plan.h"
#include "engine/weights.h"
#include "kernels/philox.h"

namespace annulus {

// Uniform in [-1,1), the same for the same (stream, index).
inline float noise(std::uint32_t stream, std::size_t index) {
  return 2.f * uniform(philox(7, stream, 0, 0, static_cast<std::uint32_t>(index)).x) - 1.f;
}

class TinyRun {
 public:
  TinyRun(Model model, int images)
      : model_(std::move(model)),
        weights_(model_, 3),
        plan_(model_, device_, images, PlanKind::training),
        activations_(plan_.activation_bytes()),
        workspace_(plan_.workspace_bytes()),
        gradients_(std::vector<float>(model_.layout().size(), 0.f)),
        state_(std::vector<StepState>{
            {.seed = 5, .step = 2, .epoch = 0, .first_sample = 0, .learning_rate = 0}}) {
    plan_.bind(activations_.span(), workspace_.span());
    parameters_ = weights_.parameters.download();
    // Biases and BatchNorm start at 0 and 1: move them, so that a gradient that ignores them shows.
    for (const Parameter* p : model_.parameters())
      for (std::size_t i = 0; i < p->count(); ++i)
        parameters_[p->slice.offset + i] += 0.2f * noise(11, p->slice.offset + i);
  }

  const Model& model() const { return model_; }
  const Plan& plan() const { return plan_; }
  std::vector<float>& parameters() { return parameters_; }

  double loss() {
    run_forward();
    std::vector<float> logits(plan_.logits().size);
    copy(logits.data(), plan_.logits().data, plan_.logits().bytes(), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) sum += double(logits[i]) * noise(13, i);
    return sum;
  }

  // The gradients of loss(), in the layout of the parameters.
  std::vector<float> gradients() {
    run_forward();
    std::vector<float> dlogits(plan_.logits().size);
    for (std::size_t i = 0; i < dlogits.size(); ++i) dlogits[i] = noise(13, i);
    copy(plan_.logits().data, dlogits.data(), plan_.logits().bytes(), cudaMemcpyHostToDevice);
    plan_.backward(pass());
    device_.compute.synchronize();
    const std::vector<float> all = gradients_.download();
    return {all.begin() + static_cast<std::ptrdiff_t>(model_.layout().head()), all.end()};
  }

 private:
  Pass pass() {
    const GradientLayout& layout = model_.layout();
    return {.device = device_,
            .parameters = weights_.parameters.span(),
            .weights = weights_.parameters.cspan(),
            .gradients = gradients_.span().subspan(layout.head(), layout.parameters),
            .statistics = gradients_.span().subspan(layout.kStatistics, layout.statistics),
            .running = weights_.running.cspan(),
            .state = state_.cspan()};
  }

  void run_forward() {
    weights_.parameters.upload(parameters_);
    std::vector<float> images(plan_.input().size);
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = noise(17, i);
    copy(plan_.input().data, images.data(), plan_.input().bytes(), cudaMemcpyHostToDevice);
    plan_.forward(pass());
    device_.compute.synchronize();
  }

  static void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    CUDA_CHECK(cudaMemcpy(to, from, bytes, kind));
  }

  Device device_;
  Model model_;
  Weights weights_;
  Plan plan_;
  Buffer<std::byte> activations_;
  Buffer<std::byte> workspace_;
  Buffer<float> gradients_;
  Buffer<StepState> state_;
  std::vector<float> parameters_;
};

}  // namespace annulus
