// See train_plan.h.
#include "engine/train_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/buckets.h"
#include "comm/communicator.h"
#include "engine/optimizer.h"

namespace annulus {
namespace {

constexpr double kAdamRate = 1e-3;  // Kingma & Ba's default; not scaled with the batch

struct PeakRate {
  double rate;
  std::string rule;
};

PeakRate peak_rate(const TrainOptions& options, std::size_t global_batch) {
  if (options.learning_rate > 0) return {options.learning_rate, "as given"};
  if (options.recipe.optimizer != "sgd") return {kAdamRate, "not scaled with the batch"};
  const double base = options.recipe.learning_rate_per_1024;
  return {base * double(global_batch) / 1024.0,
          fmt::format("{:.4g} x global batch {} / 1024", base, global_batch)};
}

}  // namespace

SumOrder parse_sum_order(const std::string& name) {
  if (name == "rank") return SumOrder::rank;
  if (name == "ring") return SumOrder::ring;
  throw UserError(ExitCode::usage,
                  fmt::format("--sum-order {}: there is no such order; one of: rank, ring", name));
}

TrainPlan plan_training(const TrainOptions& options, int ranks, std::size_t samples) {
  parse_sum_order(options.sum_order);
  parse_bucket_sizes(options.bucket_size);
  parse_wire_type(options.wire);
  if (!options.communicate && !options.compute)
    throw UserError(ExitCode::usage, "--no-comm and --comm-only leave nothing to measure");
  if (ranks == 1 && (!options.communicate || !options.compute))
    throw UserError(ExitCode::usage,
                    "--no-comm and --comm-only measure a step of several ranks; use --ranks");
  if (options.sync_batchnorm && options.virtual_ranks > 1)
    throw UserError(
        ExitCode::usage,
        "--sync-batchnorm with --virtual-ranks: virtual ranks run one after another and "
        "cannot share statistics; use --ranks");
  parse_optimizer(options.recipe.optimizer);
  TrainPlan plan;
  plan.batches = {.samples = samples,
                  .ranks = ranks * options.virtual_ranks,
                  .batch_per_rank = options.batch_size,
                  .drop_last = options.drop_last};
  if (plan.batches.global_batch() > samples)
    throw UserError(
        ExitCode::usage,
        fmt::format("--batch-size {} on {} ranks makes a global batch of {}, but the "
                    "data has {} training images; choose a smaller one",
                    options.batch_size, plan.batches.ranks, plan.batches.global_batch(), samples));
  plan.updates = plan.batches.steps() * static_cast<std::size_t>(options.recipe.epochs);
  if (!std::isfinite(options.learning_rate) || options.learning_rate < 0)
    throw UserError(ExitCode::usage, fmt::format("--lr {}: the rate must be a positive number",
                                                 options.learning_rate));
  if (options.max_steps) plan.updates = std::min(plan.updates, options.max_steps);
  const PeakRate peak = peak_rate(options, plan.batches.global_batch());
  plan.rate_rule = peak.rule;
  plan.schedule = {.kind = parse_schedule(options.recipe.schedule),
                   .peak = peak.rate,
                   .warmup = options.recipe.warmup,
                   .updates = plan.updates};
  return plan;
}

std::string TrainPlan::describe() const {
  return fmt::format(
      "global batch {} ({} x {}), {} updates an epoch{}, {} in all; learning rate {:.4g} at update "
      "1, peak {:.4g} ({})",
      batches.global_batch(), batches.ranks, batches.batch_per_rank, batches.steps(),
      batches.drop_last ? " (the short last batch dropped)" : "", updates, schedule.rate(0),
      schedule.peak, rate_rule);
}

}  // namespace annulus
