// See train_plan.h.
#include "engine/train_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/buckets.h"
#include "comm/communicator.h"
#include "engine/checkpoint_interval.h"
#include "engine/optimizer.h"
#include "engine/precision.h"

namespace annulus {
namespace {

constexpr double kAdamRate = 1e-3;  // Kingma & Ba's default; not scaled with the batch

struct PeakRate {
  double rate;
  std::string rule;
};

// `given_for` is the global batch that a rate on the command line was meant for.
PeakRate peak_rate(const TrainOptions& options, std::size_t global_batch, std::size_t given_for) {
  const bool scaled = options.recipe.optimizer == "sgd";
  if (options.learning_rate > 0 && scaled && global_batch != given_for)
    return {options.learning_rate * double(global_batch) / double(given_for),
            fmt::format("{:.4g} as given x global batch {} / {}", options.learning_rate,
                        global_batch, given_for)};
  if (options.learning_rate > 0) return {options.learning_rate, "as given"};
  if (!scaled) return {kAdamRate, "not scaled with the batch"};
  const double base = options.recipe.learning_rate_per_1024;
  return {base * double(global_batch) / 1024.0,
          fmt::format("{:.4g} x global batch {} / 1024", base, global_batch)};
}

void expect_something_to_measure(const TrainOptions& options, int ranks) {
  if (ranks == 1 && (!options.communicate || !options.compute))
    throw UserError(ExitCode::usage,
                    "--no-comm and --comm-only measure a step of several ranks; use --ranks");
}

// A run resumed with another model, other data or another seed would be another run.
void expect_the_same_run(const TrainOptions& options, const DataFacts& data,
                         const RunState& resumed) {
  const auto expect = [](const std::string& what, const auto& mine, const auto& theirs) {
    if (mine != theirs)
      throw UserError(ExitCode::usage,
                      fmt::format("--resume: the checkpoint's {} is {}, but this run's is {}; "
                                  "resume with what the run was started with",
                                  what, theirs, mine));
  };
  expect("--model", options.model, resumed.model);
  expect("--optimizer", options.recipe.optimizer, resumed.optimizer);
  expect("--seed", options.seed, resumed.seed);
  expect("--data (SHA-256)", data.checksum, resumed.data_checksum);
}

// The state in which a run begins, or goes on: at the same global batch as it was left, at another
// one from the samples seen.
RunState starting_state(const TrainOptions& options, const DataFacts& data,
                        std::size_t global_batch, const std::optional<RunState>& resumed) {
  if (!resumed)
    return {.global_batch = global_batch,
            .rate_batch = global_batch,
            .model = options.model,
            .optimizer = options.recipe.optimizer,
            .data_checksum = data.checksum,
            .seed = options.seed};
  RunState state = *resumed;
  if (state.samples > data.samples)
    throw UserError(ExitCode::data,
                    fmt::format("--resume: the checkpoint has seen {} samples of an "
                                "epoch, but the data has {}; is it damaged?",
                                state.samples, data.samples));
  if (state.global_batch == global_batch) return state;
  state.global_batch = global_batch;
  state.schedule_begin = state.updates;
  state.schedule_progress =
      (state.epoch + double(state.samples) / double(data.samples)) / double(options.recipe.epochs);
  return state;
}

}  // namespace

SumOrder parse_sum_order(const std::string& name) {
  if (name == "rank") return SumOrder::rank;
  if (name == "ring") return SumOrder::ring;
  throw UserError(ExitCode::usage,
                  fmt::format("--sum-order {}: there is no such order; one of: rank, ring", name));
}

void check_options(const TrainOptions& options) {
  parse_sum_order(options.sum_order);
  parse_bucket_sizes(options.bucket_size);
  parse_wire_type(options.wire);
  parse_precision(options.precision);
  if (!options.communicate && !options.compute)
    throw UserError(ExitCode::usage,
                    "--no-comm and --comm-only leave nothing to measure; give one of them");
  if (options.sync_batchnorm && options.virtual_ranks > 1)
    throw UserError(
        ExitCode::usage,
        "--sync-batchnorm with --virtual-ranks: virtual ranks run one after another and "
        "cannot share statistics; use --ranks");
  if (parse_replacements(options.replace).batchnorm && options.sync_batchnorm)
    throw UserError(ExitCode::usage,
                    "--sync-batchnorm with --replace batchnorm=cudnn: cuDNN's BatchNorm knows one "
                    "rank's images alone; leave one of the two out");
  parse_optimizer(options.recipe.optimizer);
  parse_schedule(options.recipe.schedule);
  parse_checkpoint_interval(options.checkpoint_every);
  if (!std::isfinite(options.learning_rate) || options.learning_rate < 0)
    throw UserError(ExitCode::usage, fmt::format("--lr {}: the rate must be a positive number",
                                                 options.learning_rate));
}

TrainPlan plan_training(const TrainOptions& options, int ranks, const DataFacts& data,
                        const std::optional<RunState>& resumed) {
  check_options(options);
  expect_something_to_measure(options, ranks);
  if (resumed) expect_the_same_run(options, data, *resumed);
  TrainPlan plan;
  plan.batches = {.samples = data.samples,
                  .ranks = ranks * options.virtual_ranks,
                  .batch_per_rank = options.batch_size,
                  .drop_last = options.drop_last};
  const std::size_t global_batch = plan.batches.global_batch();
  if (global_batch > data.samples)
    throw UserError(
        ExitCode::usage,
        fmt::format("--batch-size {} on {} ranks makes a global batch of {}, but the "
                    "data has {} training images; choose a smaller one",
                    options.batch_size, plan.batches.ranks, global_batch, data.samples));
  plan.start = starting_state(options, data, global_batch, resumed);
  plan.first_epoch = plan.batches;
  plan.first_epoch.first = plan.start.samples;
  const std::size_t epochs_left =
      static_cast<std::size_t>(options.recipe.epochs) -
      std::min<std::size_t>(plan.start.epoch, static_cast<std::size_t>(options.recipe.epochs));
  plan.updates = plan.start.updates;
  if (epochs_left)
    plan.updates += plan.first_epoch.steps() + (epochs_left - 1) * plan.batches.steps();
  if (options.max_steps) plan.updates = std::min(plan.updates, options.max_steps);
  const std::size_t left = plan.updates - std::min(plan.updates, plan.start.updates);
  const std::size_t after_first = left - std::min(left, plan.first_epoch.steps());
  plan.epochs = plan.start.epoch + (left ? 1 : 0) +
                (after_first + plan.batches.steps() - 1) / plan.batches.steps();
  const PeakRate peak = peak_rate(options, global_batch, plan.start.rate_batch);
  plan.rate_rule = peak.rule;
  plan.schedule = {.kind = parse_schedule(options.recipe.schedule),
                   .peak = peak.rate,
                   .warmup = options.recipe.warmup,
                   .updates = plan.updates,
                   .begin = plan.start.schedule_begin,
                   .progress = plan.start.schedule_progress};
  return plan;
}

std::string TrainPlan::describe() const {
  return fmt::format(
      "global batch {} ({} x {}), {} updates an epoch{}, {} in all; learning rate {:.4g} at update "
      "{}, peak {:.4g} ({})",
      batches.global_batch(), batches.ranks, batches.batch_per_rank, batches.steps(),
      batches.drop_last ? " (the short last batch dropped)" : "", updates,
      schedule.rate(std::min(start.updates, updates - 1)), start.updates + 1, schedule.peak,
      rate_rule);
}

}  // namespace annulus
