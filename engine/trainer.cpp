// The loop over epochs. Everything that can fail for the user's reasons fails before the first
// step.
#include "engine/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "engine/model/models.h"
#include "engine/progress.h"
#include "engine/safetensors.h"
#include "engine/step.h"

namespace annulus {
namespace {

constexpr int kEvaluationBatch = 500;
constexpr double kAdamRate = 1e-3;  // Kingma & Ba's default; not scaled with the batch

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

SumOrder parse_sum_order(const std::string& name) {
  if (name == "rank") return SumOrder::rank;
  if (name == "ring") return SumOrder::ring;
  throw UserError(ExitCode::usage,
                  fmt::format("--sum-order {}: there is no such order; one of: rank, ring", name));
}

double peak_rate(const TrainOptions& options, std::size_t global_batch) {
  if (options.learning_rate > 0) return options.learning_rate;
  if (options.recipe.optimizer != "sgd") return kAdamRate;
  return options.recipe.learning_rate_per_1024 * double(global_batch) / 1024.0;
}

// Flushed at once: a log collector must see the line now, and a full disk must not pass unseen.
void print_line(const std::string& line) {
  if (std::puts(line.c_str()) < 0 || std::fflush(stdout) != 0)
    throw UserError(ExitCode::storage, fmt::format("stdout: cannot be written: {}; where it goes "
                                                   "is full or closed",
                                                   std::strerror(errno)));
}

Augmentation augmentation_of(const Recipe& recipe, const ResidentData& data) {
  Augmentation augmentation = data.normalisation();
  augmentation.flip = recipe.flip;
  augmentation.translate = recipe.translate;
  augmentation.cutout = recipe.cutout;
  return augmentation;
}

// Sums the step results of one epoch; a loss that is not finite ends the run.
class EpochTotals {
 public:
  void add(const StepResult& result) {
    if (!std::isfinite(result.loss))
      throw UserError(ExitCode::diverged,
                      fmt::format("training diverged: the loss of update {} is {}; try a lower "
                                  "--lr or a longer --warmup",
                                  result.update + 1, result.loss));
    samples_ += result.samples;
    loss_ += result.loss * double(result.samples);
    hits_ += result.accuracy * double(result.samples);
  }
  std::size_t samples() const { return samples_; }
  double loss() const { return loss_ / double(samples_); }
  double accuracy() const { return hits_ / double(samples_); }

 private:
  std::size_t samples_ = 0;
  double loss_ = 0, hits_ = 0;
};

}  // namespace

TrainPlan plan_training(const TrainOptions& options, std::size_t samples) {
  parse_sum_order(options.sum_order);
  parse_optimizer(options.recipe.optimizer);
  TrainPlan plan;
  plan.batches = {.samples = samples,
                  .ranks = options.virtual_ranks,
                  .batch_per_rank = options.batch_size,
                  .drop_last = options.drop_last};
  if (plan.batches.global_batch() > samples)
    throw UserError(ExitCode::usage,
                    fmt::format("--batch-size {} on {} ranks makes a global batch of {}, but the "
                                "data has {} training images; choose a smaller one",
                                options.batch_size, options.virtual_ranks,
                                plan.batches.global_batch(), samples));
  plan.updates = plan.batches.steps() * static_cast<std::size_t>(options.recipe.epochs);
  if (!std::isfinite(options.learning_rate) || options.learning_rate < 0)
    throw UserError(ExitCode::usage, fmt::format("--lr {}: the rate must be a positive number",
                                                 options.learning_rate));
  if (options.max_steps) plan.updates = std::min(plan.updates, options.max_steps);
  plan.schedule = {.kind = parse_schedule(options.recipe.schedule),
                   .peak = peak_rate(options, plan.batches.global_batch()),
                   .warmup = options.recipe.warmup,
                   .updates = plan.updates};
  return plan;
}

std::string TrainPlan::describe() const {
  return fmt::format(
      "global batch {} ({} x {}), {} updates an epoch{}, {} in all; learning rate {:.4g} at update "
      "1, peak {:.4g}",
      batches.global_batch(), batches.ranks, batches.batch_per_rank, batches.steps(),
      batches.drop_last ? " (the short last batch dropped)" : "", updates, schedule.rate(0),
      schedule.peak);
}

std::vector<EpochMetrics> train(const TrainOptions& options, const Datasets& data,
                                const RunFolder& folder) {
  const TrainPlan plan = plan_training(options, data.train.size());
  const Recipe& recipe = options.recipe;
  const Model model = find_model(options.model)
                          .build({.image = data.train.image,
                                  .classes = data.train.classes,
                                  .dropout_scale = static_cast<float>(recipe.dropout_scale)});

  const Device device;
  ResidentData train_data(data.train, data.mean, data.std_dev);
  const ResidentData test_data(data.test, data.mean, data.std_dev);
  Weights weights(model, options.seed);
  Optimizer optimizer(model, recipe);
  Progress progress((plan.updates + plan.batches.steps() - 1) / plan.batches.steps(), plan.updates);
  EpochTotals totals;
  TrainStep step(model, device, train_data,
                 {.batches = plan.batches,
                  .sum_order = parse_sum_order(options.sum_order),
                  .seed = options.seed,
                  .label_smoothing = static_cast<float>(recipe.label_smoothing),
                  .batchnorm_momentum = static_cast<float>(recipe.batchnorm_momentum),
                  .augmentation = augmentation_of(recipe, train_data)},
                 weights, optimizer, [&](const StepResult& result) {
                   totals.add(result);
                   progress.step_done(result.samples, result.loss);
                 });
  const Evaluator evaluator(model, device, test_data, kEvaluationBatch);

  std::vector<EpochMetrics> history;
  for (std::uint32_t epoch = 0; step.updates() < plan.updates; ++epoch) {
    const std::size_t steps = std::min(plan.batches.steps(), plan.updates - step.updates());
    const auto train_start = Clock::now();
    totals = {};
    progress.epoch_begins(epoch + 1, steps);
    train_data.set_order(epoch_order(data.train.size(), options.seed, epoch));
    double rate = 0;
    for (std::size_t s = 0; s < steps; ++s) {
      rate = plan.schedule.rate(step.updates());
      step.run(epoch, s, static_cast<float>(rate));
    }
    step.finish();

    EpochMetrics metrics;
    metrics.train_seconds = seconds_since(train_start);
    const auto evaluation_start = Clock::now();
    metrics.validation = evaluator.run(weights);
    metrics.evaluation_seconds = seconds_since(evaluation_start);
    metrics.time = std::chrono::system_clock::now();
    metrics.epoch = epoch + 1;
    metrics.updates = step.updates();
    metrics.samples = totals.samples();
    metrics.loss = totals.loss();
    metrics.accuracy = totals.accuracy();
    metrics.learning_rate = rate;

    progress.clear();
    print_line(epoch_line(metrics));
    folder.append_metrics(epoch_json(metrics));
    save_weights(folder.weights(), model, weights);
    history.push_back(metrics);
  }
  return history;
}

}  // namespace annulus
