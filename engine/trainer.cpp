// The loop over epochs. Everything that can fail for the user's reasons fails before the first
// step; everything that ranks could come to disagree about is compared, once an epoch. Whatever
// ends an epoch early, a stop or a loss that is not finite, does so after the same update on every
// rank.
#include "engine/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "comm/console.h"
#include "engine/agreement.h"
#include "engine/batch_fit.h"
#include "engine/checkpoint_interval.h"
#include "engine/exchange.h"
#include "engine/live_run.h"
#include "engine/model/models.h"
#include "engine/model_file.h"
#include "engine/precision.h"
#include "engine/progress.h"
#include "engine/report.h"
#include "engine/saver.h"
#include "engine/step.h"
#include "engine/trace.h"
#include "engine/transport_report.h"

namespace annulus {
namespace {

constexpr int kEvaluationBatch = 500;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Augmentation augmentation_of(const Recipe& recipe, const ResidentData& data) {
  Augmentation augmentation = data.normalisation();
  augmentation.flip = recipe.flip;
  augmentation.translate = recipe.translate;
  augmentation.cutout = recipe.cutout;
  return augmentation;
}

Model build_model(const TrainOptions& options, const Datasets& data) {
  return find_model(options.model)
      .build({.image = data.train.image,
              .classes = data.train.classes,
              .dropout_scale = static_cast<float>(options.recipe.dropout_scale),
              .replacements = parse_replacements(options.replace)});
}

// A run on one rank. Members are made in the order in which they need each other: every cuDNN plan
// before the first collective.
class Training {
 public:
  Training(const TrainOptions& options, const TrainPlan& plan, const Datasets& data, World& world,
           const RunFolder& folder, const std::optional<CheckpointFile>& checkpoint)
      : options_(options),
        plan_(plan),
        world_(world),
        folder_(folder),
        state_(plan.start),
        evaluated_(plan.start.samples == 0),
        interval_(parse_checkpoint_interval(options.checkpoint_every)),
        agreement_(world.control == nullptr || !options.communicate, world.first(), interval_.time),
        model_(build_model(options, data)),
        train_data_(data.train, data.mean, data.std_dev),
        test_data_(data.test, data.mean, data.std_dev),
        normalisation_{data.mean, data.std_dev},
        weights_(model_, options.seed),
        optimizer_(model_, options.recipe),
        saver_(model_, weights_, optimizer_),
        precision_(parse_precision(options.precision)),
        evaluator_(model_, device_, test_data_, kEvaluationBatch, precision_),
        profile_(model_.layout().buckets(parse_bucket_sizes(options.bucket_size)), world.ranks()),
        progress_(plan_.epochs, plan_.updates, plan_.start.updates) {
    if (checkpoint) saver_.restore(*checkpoint);
    if (world.first()) report_.emplace(options, folder);
    if (world.first() && complete() && options.checkpoint_every != "never")
      saver_.write_to(folder.checkpoints(), options.keep_checkpoints);
    if (world.control)
      communicator_.emplace(world.rank(), world.ranks(), *world.control, world.deadlines);
    make_for_batch(options.batch_size, [this](int images) { make_step(images); });
  }

  TrainResult run() try {
    if (communicator_) join_ranks();
    while (!stopped() && !done()) run_epoch();
    if (world_.first()) progress_.clear();
    if (options_.trace) write_trace();
    save_checkpoint();
    saver_.finish();
    if (world_.first() && complete() && history_.empty() && done())
      save_model(folder_.weights(), model_, weights_, normalisation_);  // all epochs done before
    if (communicator_) {
      if (world_.first()) print_communication();
      world_.control->set_phase({.name = "end"});
      world_.control->barrier("the end of training");
    }
    return {.history = history_,
            .stopped_by = done() ? std::nullopt : stopped(),
            .updates = state_.updates};
  } catch (const std::exception& error) {
    if (world_.first()) progress_.clear();
    if (communicator_) end_badly(error.what());
    cudaDeviceSynchronize();  // what is queued uses what is about to be freed
    throw;
  }

 private:
  // From here on all ranks hold rank 0's bits.
  void join_ranks() {
    expect_same(*world_.control, ExitCode::data, "the data (SHA-256)", state_.data_checksum);
    expect_same(
        *world_.control, ExitCode::usage, "the model and its buckets",
        fmt::format("{} with {} classes, {} parameters, {}", model_.name(), model_.classes(),
                    model_.parameter_count(), describe(profile_.buckets())));
    if (world_.first()) note(describe(profile_.buckets()) + "\n");
    communicator_->join();
    communicator_->broadcast(weights_.parameters.span(), device_.compute);
    communicator_->broadcast(weights_.running.span(), device_.compute);
    if (state_.updates)
      for (Buffer<float>* moment : optimizer_.moments())
        communicator_->broadcast(moment->span(), device_.compute);
    const Event done;
    done.record(device_.compute);
    communicator_->wait(done);
    expect_same_weights("the weights before training");
    const std::string transports = transport_report(*world_.control);
    if (world_.first()) note(transports);
  }

  // The others get the reason before NCCL tells them that this rank is gone.
  void end_badly(const std::string& reason) {
    communicator_->flight_record().freeze();
    step_->drop_graphs();
    world_.leave_for_this_exception();
    communicator_->flight_record().write(folder_.path(), world_.rank(), reason);
    communicator_->abort();
  }

  void make_step(int batch_per_rank) {
    step_.emplace(
        model_, device_, train_data_, step_options(batch_per_rank), weights_, optimizer_,
        [this](const StepResult& result, const StepTimes& times) { on_result(result, times); });
  }

  StepOptions step_options(int batch_per_rank) {
    const auto cut = [&](Batches batches) {
      batches.batch_per_rank = batch_per_rank;
      return batches;
    };
    return {.batches = cut(plan_.batches),
            .first_epoch = cut(plan_.first_epoch),
            .communicator = communicator_ ? &*communicator_ : nullptr,
            .buckets = profile_.buckets(),
            .wire = parse_wire_type(options_.wire),
            .precision = precision_,
            .loss_scale = plan_.start.scale(),
            .sync_batchnorm = options_.sync_batchnorm,
            .sum_order = parse_sum_order(options_.sum_order),
            .seed = options_.seed,
            .label_smoothing = static_cast<float>(options_.recipe.label_smoothing),
            .batchnorm_momentum = static_cast<float>(options_.recipe.batchnorm_momentum),
            .augmentation = augmentation_of(options_.recipe, train_data_),
            .updates = plan_.start.updates,
            .requests = [this] { return agreement_.requests(); },
            .graph = options_.graph};
  }

  void run_epoch() {
    const std::uint32_t epoch = state_.epoch;
    const Batches& batches = plan_.batches_of(epoch);
    const std::size_t steps = std::min(batches.steps(), plan_.updates - state_.updates);
    step_->cut_epoch(batches);
    train_data_.set_order(epoch_order(batches.samples, options_.seed, epoch));
    if (epoch == plan_.start.epoch && communicator_ && complete() && steps > 4 * kUndisturbedSteps)
      measure_undisturbed();
    step_->seed_dropout();

    profile_.begin_epoch();
    progress_.epoch_begins(epoch + 1, steps);
    epoch_clock_ = Clock::now();
    for (std::size_t s = 0; s < steps && !stopped(); ++s) {
      step_->run(epoch, s, static_cast<float>(plan_.schedule.rate(state_.updates)),
                 {.compute = options_.compute, .communicate = options_.communicate});
      state_.updates = step_->updates();
      state_.samples = std::min(batches.first_sample(s + 1), batches.samples);
      evaluated_ = false;
      if (diverged_) fail_diverged();
      if (checkpoint_due()) save_checkpoint();
    }
    finish_steps();
    if (stopped()) return;

    evaluate_epoch();
    if (steps == batches.steps()) begin_next_epoch();
  }

  void evaluate_epoch() {
    EpochMetrics metrics;
    metrics.train_seconds = state_.seconds;
    if (communicator_) world_.control->set_phase({.name = "evaluation"});
    const auto evaluation_start = Clock::now();
    metrics.validation = evaluator_.run(weights_, communicator_ ? &*communicator_ : nullptr);
    metrics.evaluation_seconds = seconds_since(evaluation_start);
    if (communicator_ && complete())
      expect_same_weights(fmt::format("the weights after epoch {}", state_.epoch + 1));
    if (communicator_ && options_.communicate) metrics.overlap = profile_.report(*world_.control);
    metrics.time = std::chrono::system_clock::now();
    metrics.epoch = state_.epoch + 1;
    metrics.updates = state_.updates;
    metrics.samples = state_.trained;
    metrics.loss = state_.loss / double(state_.trained);
    metrics.accuracy = state_.hits / double(state_.trained);
    metrics.learning_rate = plan_.schedule.rate(state_.updates - 1);
    if (precision_.element == Element::fp16)
      metrics.loss_scale = {state_.loss_scale, state_.skipped - state_.skipped_before};
    history_.push_back(metrics);
    evaluated_ = true;
    if (world_.first()) report(metrics);
    if (world_.live) world_.live->epoch_done(metrics);
  }

  void begin_next_epoch() {
    ++state_.epoch;
    state_.samples = state_.trained = 0;
    state_.loss = state_.hits = state_.seconds = 0;
    state_.skipped_before = state_.skipped;
    epoch_clock_ = Clock::now();
    if (interval_.epochs && state_.epoch % interval_.epochs == 0) save_checkpoint();
  }

  void report(const EpochMetrics& metrics) {
    progress_.clear();
    if (complete()) save_model(folder_.weights(), model_, weights_, normalisation_);
    report_->epoch(metrics);
    note(overflow_note(metrics.validation, precision_));
  }

  bool done() const { return state_.updates >= plan_.updates && evaluated_; }
  std::optional<int> stopped() const { return agreement_.stop(); }

  // Every update so far has then been seen by the host, on every rank.
  void finish_steps() {
    step_->finish();
    state_.seconds += seconds_since(epoch_clock_);
    epoch_clock_ = Clock::now();
    if (diverged_) fail_diverged();
  }

  // Every rank comes to the same answer, as it must drain its steps with the others.
  bool checkpoint_due() {
    const bool by_steps = interval_.steps && state_.updates % interval_.steps == 0;
    return agreement_.take_checkpoint() || by_steps;
  }

  void save_checkpoint() {
    finish_steps();
    saver_.save(state_);
  }

  // All ranks learn of it with the same step, and look for its cause together.
  [[noreturn]] void fail_diverged() {
    step_->finish();
    if (std::isfinite(diverged_->loss))
      throw UserError(
          ExitCode::diverged,
          fmt::format("training diverged: the gradients of update {} overflow {} even at a loss "
                      "scale of {}; try a lower --lr, a longer --warmup or --precision bf16{}",
                      diverged_->update + 1, precision_.name, kSmallestLossScale,
                      last_checkpoint()));
    std::string found = step_->find_not_finite(*diverged_);
    if (communicator_ && options_.communicate) {
      const std::vector<std::string> all = world_.control->gather(found);
      const auto first = std::find_if(all.begin(), all.end(),
                                      [](const std::string& text) { return !text.empty(); });
      if (first != all.end()) found = fmt::format("{} on rank {}", *first, first - all.begin());
    }
    throw UserError(
        ExitCode::diverged,
        fmt::format("training diverged: the loss of update {} is {}; {}; try a lower "
                    "--lr or a longer --warmup{}",
                    diverged_->update + 1, std::isnan(diverged_->loss) ? "nan" : "infinite",
                    found.empty() ? "every layer's output is finite"
                                  : found + " is the first that is not finite",
                    last_checkpoint()));
  }

  std::string last_checkpoint() {
    const std::string checkpoint = saver_.last();
    return checkpoint.empty() ? "" : "; the last checkpoint is " + checkpoint;
  }

  void write_trace() {
    if (world_.first() && profile_.steps().empty())
      note(
          fmt::format("trace.json: empty, as the first {} steps are left out\n", Profile::kWarmUp));
    const std::string trace = gather_trace(world_.control.get(), world_.rank(), profile_.steps());
    if (world_.first()) folder_.write("trace.json", trace);
  }

  void print_communication() const {
    if (history_.empty() || !history_.back().overlap) return;
    const EpochMetrics& last = history_.back();
    if (last.overlap->steps == 0) return;
    note(fmt::format("communication, the means of {} steps over {} ranks:\n{}", last.overlap->steps,
                     world_.ranks(), bucket_table(*last.overlap, std::size_t(world_.ranks()))));
  }

  bool complete() const { return options_.compute && options_.communicate; }

  // How long the layers take without communication beside them, on the first batches; the weights
  // stay as they are.
  void measure_undisturbed() {
    world_.control->barrier("the measurement before training");
    undisturbed_.emplace();
    const std::size_t last = plan_.batches.steps() - 1;
    for (std::size_t s = 0; s < kUndisturbedSteps; ++s)
      step_->run(0, std::min(s, last), 0.f, {.communicate = false, .update = false});
    step_->finish();
    undisturbed_->pop_front();  // warms up
    profile_.set_undisturbed(compute_time(*undisturbed_));
    undisturbed_.reset();
  }

  void on_result(const StepResult& result, const StepTimes& times) {
    if (undisturbed_) return undisturbed_->push_back(times);
    if (diverged_) return;
    if (!std::isfinite(result.loss) || overflows_unscaled(result)) {
      diverged_ = result;
      return;
    }
    if (result.loss_scale) state_.set_scale(*result.loss_scale);
    agreement_.heard(result.requests);
    state_.trained += result.samples;
    state_.loss += result.loss * double(result.samples);
    state_.hits += result.accuracy * double(result.samples);
    profile_.add(times);
    if (world_.first()) progress_.step_done(result.samples, result.loss);
    if (world_.live) world_.live->step_done(result, times);
  }

  // Nothing is left to halve, and still a gradient was not finite.
  bool overflows_unscaled(const StepResult& result) const {
    return result.loss_scale && result.loss_scale->skipped > state_.skipped &&
           state_.loss_scale == kSmallestLossScale;
  }

  void expect_same_weights(const std::string& what) {
    expect_same(*world_.control, ExitCode::internal, what, checksum(weights_));
  }

  static constexpr std::size_t kUndisturbedSteps = 6;

  const TrainOptions& options_;
  const TrainPlan& plan_;
  World& world_;
  const RunFolder& folder_;
  RunState state_;  // after the last queued update; its sums after the last result
  bool evaluated_;  // since the last update
  CheckpointInterval interval_;
  Agreement agreement_;
  Model model_;
  Device device_{options_.deterministic ? Engines::deterministic : Engines::any};
  ResidentData train_data_, test_data_;
  const Normalisation normalisation_;
  Weights weights_;
  Optimizer optimizer_;
  Saver saver_;
  const Precision precision_;
  Evaluator evaluator_;
  Profile profile_;
  Progress progress_;
  std::optional<Report> report_;  // of rank 0
  std::optional<Communicator> communicator_;
  std::optional<TrainStep> step_;
  std::optional<StepResult> diverged_;
  Clock::time_point epoch_clock_ = Clock::now();
  std::optional<std::deque<StepTimes>> undisturbed_;  // while it is measured
  std::vector<EpochMetrics> history_;
};

}  // namespace

TrainResult train(const TrainOptions& options, const TrainPlan& plan, const Datasets& data,
                  World& world, const RunFolder& folder,
                  const std::optional<CheckpointFile>& checkpoint) {
  return Training(options, plan, data, world, folder, checkpoint).run();
}

}  // namespace annulus
