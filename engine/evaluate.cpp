// Queues all batches, then reads all results at once and adds them up in double.
#include "engine/evaluate.h"

#include <algorithm>
#include <cmath>

#include "kernels/cast.h"
#include "kernels/softmax_xent.h"

namespace annulus {

std::string overflow_note(const Evaluation& evaluation, const Precision& precision) {
  if (std::isfinite(evaluation.loss) || precision.element != Element::fp16) return "";
  return "the validation loss is not finite: activations may have passed fp16's largest number, "
         "65504; see annulus eval --precision fp32, and train with --precision bf16 or a lower "
         "--lr\n";
}

Evaluator::Evaluator(const Model& model, const Device& device, const ResidentData& data, int batch,
                     const Precision& precision)
    : model_(model),
      device_(device),
      data_(data),
      batch_(static_cast<int>(std::min<std::size_t>(batch, data.size()))),
      rounded_weights_(precision, model.layout().parameters),
      labels_(batch_),
      loss_workspace_(softmax_xent_workspace(batch_)) {
  full_ = std::make_unique<Plan>(model, device, batch_, PlanKind::inference, precision);
  const int remainder = static_cast<int>(data.size() % batch_);
  if (remainder)
    last_ = std::make_unique<Plan>(model, device, remainder, PlanKind::inference, precision);

  std::size_t activations = full_->activation_bytes(), workspace = full_->workspace_bytes();
  if (last_) {
    activations = std::max(activations, last_->activation_bytes());
    workspace = std::max(workspace, last_->workspace_bytes());
  }
  activations_ = Buffer<std::byte>(activations);
  workspace_ = Buffer<std::byte>(workspace);
  full_->bind(activations_.span(), workspace_.span());
  if (last_) last_->bind(activations_.span(), workspace_.span());

  const std::size_t batches = (data.size() + batch_ - 1) / batch_;
  std::vector<StepState> states(batches, StepState{});
  for (std::size_t b = 0; b < batches; ++b)
    states[b].first_sample = static_cast<std::uint32_t>(b * batch_);
  states_ = Buffer<StepState>(states);
  results_ = Buffer<float>(2 * batches);
}

void Evaluator::run_batch(const Weights& weights, AnyInput rounded, const Plan& plan,
                          std::size_t batch, Span<float> logits) const {
  const Span<std::int32_t> labels = labels_.span().subspan(0, plan.images());
  const Pass pass{.device = device_,
                  .parameters = weights.parameters.span(),
                  .weights = rounded,
                  .gradients = {},
                  .statistics = {},
                  .running = weights.running.cspan(),
                  .state = states_.cspan().subspan(batch, 1)};
  data_.load(pass.stream(), pass.state, 0, data_.normalisation(), plan.input(), labels);
  plan.inference(pass);
  softmax_xent(pass.stream(), model_.classes(), plan.logits(), labels, 0, 0, {},
               results_.span().subspan(2 * batch, 2), loss_workspace_.span());
  if (logits.size == 0) return;
  const Span<float> target = logits.subspan(batch * batch_ * model_.classes(), plan.logits().size);
  if (plan.logits().element != Element::fp32)
    return cast_to_float(pass.stream(), plan.logits(), target);
  CUDA_CHECK(cudaMemcpyAsync(target.data, plan.logits().data, target.bytes(),
                             cudaMemcpyDeviceToDevice, pass.stream()));
}

Evaluation Evaluator::run(const Weights& weights, Communicator* communicator,
                          Span<float> logits) const {
  const std::size_t batches = states_.size();
  const std::size_t rank = communicator ? communicator->rank() : 0;
  const std::size_t world = communicator ? communicator->world() : 1;
  const Stream& stream = device_.compute;
  CUDA_CHECK(cudaMemsetAsync(results_.span().data, 0, results_.bytes(), stream.get()));
  const AnyInput rounded = rounded_weights_.of(weights.parameters.cspan(), stream.get());
  for (std::size_t b = rank; b < batches; b += world)
    run_batch(weights, rounded, b + 1 == batches && last_ ? *last_ : *full_, b, logits);
  if (communicator) communicator->all_reduce(results_.span(), stream, {.name = "evaluation"});
  const Event done;
  done.record(stream);
  if (communicator) communicator->wait(done);
  done.synchronize();

  const std::vector<float> results = results_.download();
  Evaluation evaluation{.samples = data_.size()};
  for (std::size_t b = 0; b < batches; ++b) {
    evaluation.loss += results[2 * b];
    evaluation.accuracy += results[2 * b + 1];
  }
  evaluation.loss /= double(evaluation.samples);
  evaluation.accuracy /= double(evaluation.samples);
  return evaluation;
}

}  // namespace annulus
