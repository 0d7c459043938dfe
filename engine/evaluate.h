// Exact evaluation: every test image once, nothing padded, nothing counted twice; the mean over
// images, not over batches. Several ranks share the batches out; what a batch contributes does not
// depend on who computes it, so neither does the result. Plans are made in the constructor. Called
// by the trainer after each epoch and by `annulus eval`.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "engine/plan.h"
#include "engine/resident_data.h"
#include "engine/rounded_weights.h"
#include "engine/weights.h"

namespace annulus {

struct Evaluation {
  std::size_t samples = 0;
  double loss = 0;  // mean cross-entropy, without label smoothing
  double accuracy = 0;
};

// Where fp16, which ends at 65504, is why a loss is not finite: a line that says so; else empty.
std::string overflow_note(const Evaluation& evaluation, const Precision& precision);

class Evaluator {
 public:
  Evaluator(const Model& model, const Device& device, const ResidentData& data, int batch,
            const Precision& precision = kFp32);

  // Waits for the result. With a communicator it is collective, and the result is every rank's.
  // `logits`, fp32 [images, classes] on the device or empty, takes those of this rank's images.
  Evaluation run(const Weights& weights, Communicator* communicator = nullptr,
                 Span<float> logits = {}) const;

 private:
  void run_batch(const Weights& weights, AnyInput rounded, const Plan& plan, std::size_t batch,
                 Span<float> logits) const;

  const Model& model_;
  const Device& device_;
  const ResidentData& data_;
  int batch_;
  std::unique_ptr<Plan> full_, last_;  // last_: the remainder, null where the batch divides the set
  Buffer<std::byte> activations_, workspace_;
  RoundedWeights rounded_weights_;
  Buffer<std::int32_t> labels_;
  Buffer<float> loss_workspace_;
  Buffer<StepState> states_;  // one a batch: where it begins
  Buffer<float> results_;     // [batches, 2]: loss sum, hits
};

}  // namespace annulus
