// A few training steps on a small random data set, with the numbers of ranks and the batch as the
// test wants them. Used by step_test, ranks_test and evaluate_test.
#pragma once

#include <vector>

#include "engine/step.h"
#include "kernels/philox.h"

namespace annulus {

inline Dataset random_dataset(std::size_t count, ImageShape image, int classes) {
  Dataset data{.name = "random",
               .image = image,
               .classes = classes,
               .class_names = {},
               .images = {},
               .labels = {}};
  data.images.resize(count * image.size());
  data.labels.resize(count);
  for (std::size_t i = 0; i < data.images.size(); ++i)
    data.images[i] = static_cast<std::uint8_t>(philox(1, 1, 0, 0, std::uint32_t(i)).x >> 24);
  for (std::size_t i = 0; i < count; ++i)
    data.labels[i] =
        static_cast<std::uint8_t>(philox(1, 2, 0, 0, std::uint32_t(i)).x % unsigned(classes));
  return data;
}

inline constexpr std::array<float, 4> kTinyMean{128, 128, 128, 0}, kTinyStd{64, 64, 64, 1};

// What a test chooses beside the batches.
struct TinyOptions {
  SumOrder order = SumOrder::rank;
  Recipe recipe = {};
  Communicator* communicator = nullptr;  // joined by the first run
  std::size_t bucket_floats = 0;         // 0: one bucket
  WireType wire = WireType::fp32;
  Precision precision = kFp32;
  LossScale loss_scale = kInitialLossScale;
  bool sync_batchnorm = false;
  bool graph = true;
};

class TinyTraining {
 public:
  TinyTraining(Model model, const Dataset& data, Batches batches, TinyOptions options = {})
      : batches_(batches),
        model_(std::move(model)),
        data_(data, kTinyMean, kTinyStd),
        weights_(model_, 3),
        optimizer_(model_, options.recipe),
        step_(model_, device_, data_,
              {.batches = batches,
               .communicator = options.communicator,
               .buckets = buckets(options.bucket_floats),
               .wire = options.wire,
               .precision = options.precision,
               .loss_scale = options.loss_scale,
               .sync_batchnorm = options.sync_batchnorm,
               .sum_order = options.order,
               .seed = 9,
               .label_smoothing = static_cast<float>(options.recipe.label_smoothing),
               .augmentation = augmentation(options.recipe),
               .graph = options.graph},
              weights_, optimizer_, [this](const StepResult& r, const StepTimes& t) {
                results_.push_back(r);
                times_.push_back(t);
              }) {
    if (options.communicator) options.communicator->join();
  }

  // Runs `updates` steps at a constant rate; the order of the samples changes with the epoch.
  void run(std::size_t updates, float rate) {
    for (std::size_t u = 0; u < updates; ++u) {
      const auto epoch = static_cast<std::uint32_t>(step_.updates() / batches_.steps());
      const std::size_t step = step_.updates() % batches_.steps();
      if (step == 0) {
        step_.finish();
        data_.set_order(epoch_order(batches_.samples, 9, epoch));
      }
      step_.run(epoch, step, rate);
    }
    step_.finish();
  }

  std::vector<float> parameters() const { return weights_.parameters.download(); }
  std::vector<float> running() const { return weights_.running.download(); }
  const std::vector<StepResult>& results() const { return results_; }
  const std::vector<StepTimes>& times() const { return times_; }
  TrainStep& step() { return step_; }
  const Model& model() const { return model_; }
  const Device& device() const { return device_; }
  Weights& weights() { return weights_; }

 private:
  std::vector<Bucket> buckets(std::size_t floats) const {
    if (floats == 0) return {};
    return model_.layout().buckets({1, floats * sizeof(float)});
  }

  Augmentation augmentation(const Recipe& recipe) const {
    Augmentation a = data_.normalisation();
    a.flip = recipe.flip;
    a.translate = recipe.translate;
    return a;
  }

  Batches batches_;
  Device device_;
  Model model_;
  ResidentData data_;
  Weights weights_;
  Optimizer optimizer_;
  std::vector<StepResult> results_;
  std::vector<StepTimes> times_;
  TrainStep step_;
};

}  // namespace annulus
