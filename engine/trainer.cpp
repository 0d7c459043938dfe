// The loop over epochs. Everything that can fail for the user's reasons fails before the first
// step; everything that ranks could come to disagree about is compared, once an epoch.
#include "engine/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>

#include "comm/console.h"
#include "engine/exchange.h"
#include "engine/model/models.h"
#include "engine/model_file.h"
#include "engine/progress.h"
#include "engine/report.h"
#include "engine/step.h"
#include "engine/trace.h"

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
              .dropout_scale = static_cast<float>(options.recipe.dropout_scale)});
}

// A run on one rank. Members are made in the order in which they need each other: every cuDNN plan
// before the first collective.
class Training {
 public:
  Training(const TrainOptions& options, const Datasets& data, World& world, const RunFolder& folder)
      : options_(options),
        plan_(plan_training(options, world.ranks(), data.train.size())),
        world_(world),
        folder_(folder),
        data_checksum_(data.checksum),
        model_(build_model(options, data)),
        train_data_(data.train, data.mean, data.std_dev),
        test_data_(data.test, data.mean, data.std_dev),
        weights_(model_, options.seed),
        optimizer_(model_, options.recipe),
        evaluator_(model_, device_, test_data_, kEvaluationBatch),
        profile_(model_.layout().buckets(parse_bucket_sizes(options.bucket_size)), world.ranks()),
        progress_((plan_.updates + plan_.batches.steps() - 1) / plan_.batches.steps(),
                  plan_.updates) {
    if (world.first()) report_.emplace(options, folder);
    if (world.control)
      communicator_.emplace(world.rank(), world.ranks(), *world.control, world.deadlines);
    step_.emplace(
        model_, device_, train_data_, step_options(), weights_, optimizer_,
        [this](const StepResult& result, const StepTimes& times) { on_result(result, times); });
  }

  std::vector<EpochMetrics> run() try {
    if (communicator_) join_ranks();
    for (std::uint32_t epoch = 0; step_->updates() < plan_.updates; ++epoch) run_epoch(epoch);
    if (options_.trace) write_trace();
    if (communicator_) {
      if (world_.first()) print_communication(history_.back());
      world_.control->set_phase({.name = "end"});
      world_.control->barrier("the end of training");
    }
    return history_;
  } catch (const std::exception& error) {
    if (communicator_) end_badly(error.what());
    cudaDeviceSynchronize();  // what is queued uses what is about to be freed
    throw;
  }

 private:
  // From here on all ranks hold rank 0's bits.
  void join_ranks() {
    expect_same(*world_.control, ExitCode::data, "the data (SHA-256)", data_checksum_);
    expect_same(
        *world_.control, ExitCode::usage, "the model and its buckets",
        fmt::format("{} with {} classes, {} parameters, {}", model_.name(), model_.classes(),
                    model_.parameter_count(), describe(profile_.buckets())));
    if (world_.first()) note(describe(profile_.buckets()) + "\n");
    communicator_->join();
    communicator_->broadcast(weights_.parameters.span(), device_.compute);
    communicator_->broadcast(weights_.running.span(), device_.compute);
    const Event done;
    done.record(device_.compute);
    communicator_->wait(done);
    expect_same_weights("the weights before training");
  }

  // The others get the reason before NCCL tells them that this rank is gone.
  void end_badly(const std::string& reason) {
    communicator_->flight_record().freeze();
    world_.leave_for_this_exception();
    communicator_->flight_record().write(folder_.path(), world_.rank(), reason);
    communicator_->abort();
  }

  StepOptions step_options() {
    return {.batches = plan_.batches,
            .communicator = communicator_ ? &*communicator_ : nullptr,
            .buckets = profile_.buckets(),
            .wire = parse_wire_type(options_.wire),
            .sync_batchnorm = options_.sync_batchnorm,
            .sum_order = parse_sum_order(options_.sum_order),
            .seed = options_.seed,
            .label_smoothing = static_cast<float>(options_.recipe.label_smoothing),
            .batchnorm_momentum = static_cast<float>(options_.recipe.batchnorm_momentum),
            .augmentation = augmentation_of(options_.recipe, train_data_)};
  }

  void run_epoch(std::uint32_t epoch) {
    const std::size_t steps = std::min(plan_.batches.steps(), plan_.updates - step_->updates());
    train_data_.set_order(epoch_order(plan_.batches.samples, options_.seed, epoch));
    if (epoch == 0 && communicator_ && complete() && plan_.updates > 4 * kUndisturbedSteps)
      measure_undisturbed();

    EpochMetrics metrics;
    const auto train_start = Clock::now();
    totals_ = {};
    profile_.begin_epoch();
    progress_.epoch_begins(epoch + 1, steps);
    for (std::size_t s = 0; s < steps; ++s) {
      metrics.learning_rate = plan_.schedule.rate(step_->updates());
      step_->run(epoch, s, static_cast<float>(metrics.learning_rate),
                 {.compute = options_.compute, .communicate = options_.communicate});
    }
    step_->finish();
    metrics.train_seconds = seconds_since(train_start);

    if (communicator_) world_.control->set_phase({.name = "evaluation"});
    const auto evaluation_start = Clock::now();
    metrics.validation = evaluator_.run(weights_, communicator_ ? &*communicator_ : nullptr);
    metrics.evaluation_seconds = seconds_since(evaluation_start);
    if (communicator_ && complete())
      expect_same_weights(fmt::format("the weights after epoch {}", epoch + 1));
    if (communicator_ && options_.communicate) metrics.overlap = profile_.report(*world_.control);
    metrics.time = std::chrono::system_clock::now();
    metrics.epoch = epoch + 1;
    metrics.updates = step_->updates();
    metrics.samples = totals_.samples;
    metrics.loss = totals_.loss / double(totals_.samples);
    metrics.accuracy = totals_.hits / double(totals_.samples);
    history_.push_back(metrics);
    if (world_.first()) report(metrics);
  }

  void report(const EpochMetrics& metrics) {
    progress_.clear();
    report_->epoch(metrics);
    if (complete()) save_weights(folder_.weights(), model_, weights_);
  }

  void write_trace() {
    if (world_.first() && profile_.steps().empty())
      note(
          fmt::format("trace.json: empty, as the first {} steps are left out\n", Profile::kWarmUp));
    const std::string trace = gather_trace(world_.control.get(), world_.rank(), profile_.steps());
    if (world_.first()) folder_.write("trace.json", trace);
  }

  void print_communication(const EpochMetrics& last) {
    if (!last.overlap || last.overlap->steps == 0) return;
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

  // A loss that is not finite ends the run.
  void on_result(const StepResult& result, const StepTimes& times) {
    if (undisturbed_) return undisturbed_->push_back(times);
    if (!std::isfinite(result.loss))
      throw UserError(ExitCode::diverged,
                      fmt::format("training diverged: the loss of update {} is {}; try a lower "
                                  "--lr or a longer --warmup",
                                  result.update + 1, result.loss));
    totals_.samples += result.samples;
    totals_.loss += result.loss * double(result.samples);
    totals_.hits += result.accuracy * double(result.samples);
    profile_.add(times);
    if (world_.first()) progress_.step_done(result.samples, result.loss);
  }

  void expect_same_weights(const std::string& what) {
    expect_same(*world_.control, ExitCode::internal, what, checksum(weights_));
  }

  static constexpr std::size_t kUndisturbedSteps = 6;
  struct Totals {  // of an epoch
    std::size_t samples = 0;
    double loss = 0, hits = 0;
  };

  const TrainOptions& options_;
  TrainPlan plan_;
  World& world_;
  const RunFolder& folder_;
  const std::string& data_checksum_;
  Model model_;
  Device device_;
  ResidentData train_data_, test_data_;
  Weights weights_;
  Optimizer optimizer_;
  Evaluator evaluator_;
  Profile profile_;
  Progress progress_;
  std::optional<Report> report_;  // of rank 0
  std::optional<Communicator> communicator_;
  std::optional<TrainStep> step_;
  Totals totals_;
  std::optional<std::deque<StepTimes>> undisturbed_;  // while it is measured
  std::vector<EpochMetrics> history_;
};

}  // namespace

std::vector<EpochMetrics> train(const TrainOptions& options, const Datasets& data, World& world,
                                const RunFolder& folder) {
  return Training(options, data, world, folder).run();
}

}  // namespace annulus
