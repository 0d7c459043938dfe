// bench_overlap: what communication costs a training step, by bucket plan. Ranks as processes; for
// each plan, blocks of whole steps, of steps without communication and of communication alone take
// turns, so that a noisy machine disturbs all three alike. A step that hides everything takes the
// larger of the other two. Random images: no data set is needed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/random_images.h"
#include "engine/cli/ranks.h"
#include "engine/model/models.h"
#include "engine/outcome.h"
#include "engine/profile.h"
#include "engine/step.h"

namespace {

using namespace annulus;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string model = "seed-cnn";
  int batch = 64;
  double seconds = 8;  // a bucket plan
  std::vector<std::string> plans{"1G", "128K,1M", "128K,512K", "128K,256K", "128K,128K", "64K,64K"};
  bool json = false;
};

constexpr StepParts kWhole{}, kNoCommunication{.communicate = false},
    kCommunicationOnly{.compute = false, .update = false};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Measured {
  std::string plan;
  std::size_t buckets = 0;
  double step = 0, no_communication = 0, communication_only = 0;  // ms, medians over turns
  double ratio = 0;  // median over turns: step / max(no communication, communication only)
  OverlapReport overlap;
};

// One rank of the bench.
class Bench {
 public:
  Bench(const Options& options, World& world)
      : options_(options),
        world_(world),
        batches_{.samples = 4 * std::size_t(options.batch) * world.ranks(),
                 .ranks = world.ranks(),
                 .batch_per_rank = options.batch},
        entry_(find_model(options.model)),
        model_(entry_.build({.dropout_scale = float(entry_.recipe.dropout_scale)})),
        data_(bench::random_images(batches_.samples), {128, 128, 128, 0}, {64, 64, 64, 1}),
        weights_(model_, 1),
        optimizer_(model_, entry_.recipe),
        communicator_(world.rank(), world.ranks(), *world.control, world.deadlines) {
    communicator_.join();
  }

  Measured measure(const std::string& plan) {
    const std::vector<Bucket> buckets = model_.layout().buckets(parse_bucket_sizes(plan));
    Profile profile(buckets, std::size_t(world_.ranks()));
    std::deque<StepTimes> undisturbed;
    StepParts parts = kWhole;
    TrainStep step(model_, device_, data_, step_options(buckets), weights_, optimizer_,
                   [&](const StepResult&, const StepTimes& times) {
                     if (!parts.communicate) undisturbed.push_back(times);
                     if (parts.communicate && parts.compute) profile.add(times);
                   });
    Measured result{.plan = plan, .buckets = buckets.size(), .overlap = {}};
    std::vector<double> whole, no_communication, communication_only, ratios;
    const std::size_t steps = steps_of_a_block(step);
    const auto begin = Clock::now();
    for (bool go_on = true; go_on; go_on = turn_left(begin)) {
      parts = kNoCommunication;
      no_communication.push_back(time_block(step, steps, parts));
      parts = kCommunicationOnly;
      communication_only.push_back(time_block(step, steps, parts));
      parts = kWhole;
      whole.push_back(time_block(step, steps, parts));
      ratios.push_back(whole.back() / std::max(no_communication.back(), communication_only.back()));
    }
    profile.set_undisturbed(compute_time(undisturbed));
    result.step = median(whole);
    result.no_communication = median(no_communication);
    result.communication_only = median(communication_only);
    result.ratio = median(ratios);
    result.overlap = profile.report(*world_.control);
    return result;
  }

 private:
  StepOptions step_options(const std::vector<Bucket>& buckets) {
    StepOptions options{.batches = batches_,
                        .communicator = &communicator_,
                        .buckets = buckets,
                        .label_smoothing = float(entry_.recipe.label_smoothing),
                        .augmentation = data_.normalisation()};
    options.augmentation.flip = entry_.recipe.flip;
    options.augmentation.translate = entry_.recipe.translate;
    return options;
  }

  // Milliseconds a step.
  double time_block(TrainStep& step, std::size_t steps, StepParts parts) {
    world_.control->barrier("a block of steps");
    const auto begin = Clock::now();
    for (std::size_t s = 0; s < steps; ++s) step.run(0, s % batches_.steps(), 1e-4f, parts);
    step.finish();
    world_.control->barrier("the end of a block");
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count() / double(steps);
  }

  // As many as take a quarter of a second; rank 0's word holds for all.
  std::size_t steps_of_a_block(TrainStep& step) {
    time_block(step, 5, kWhole);
    const double ms = time_block(step, 5, kWhole);
    const auto steps = static_cast<std::size_t>(std::clamp(250 / ms, 3.0, 100.0));
    return std::stoul(world_.control->broadcast(std::to_string(steps)));
  }

  bool turn_left(Clock::time_point begin) {
    const bool left = Clock::now() - begin < std::chrono::duration<double>(options_.seconds);
    return world_.control->broadcast(left ? "turn" : "end") == "turn";
  }

  const Options& options_;
  World& world_;
  Batches batches_;
  const ModelEntry& entry_;
  Model model_;
  Device device_;
  ResidentData data_;
  Weights weights_;
  Optimizer optimizer_;
  Communicator communicator_;
};

nlohmann::ordered_json json_of(const Options& options, const World& world, const Measured& m) {
  return {{"model", options.model},
          {"batch_size", options.batch},
          {"ranks", world.ranks()},
          {"bucket_size", m.plan},
          {"buckets", m.buckets},
          {"step_ms", m.step},
          {"no_comm_ms", m.no_communication},
          {"comm_only_ms", m.communication_only},
          {"ratio", m.ratio},
          {"images_per_sec", 1000 * options.batch * world.ranks() / m.step},
          {"overlap", m.overlap.overlap},
          {"exposed_ms", m.overlap.exposed},
          {"waiting_ms", m.overlap.waiting},
          {"interference", m.overlap.interference}};
}

std::string row_of(const Measured& m) {
  return fmt::format(
      "{:<10} {:>7} {:>9.3f} {:>9.3f} {:>9.3f} {:>7.3f} {:>8.3f} {:>9.3f} {:>9.3f} {:>8.3f}",
      m.plan, m.buckets, m.step, m.no_communication, m.communication_only, m.ratio,
      m.overlap.overlap, m.overlap.exposed, m.overlap.waiting, m.overlap.interference);
}

void run(const Options& options, World& world) {
  Bench bench(options, world);
  const bool table = world.first() && !options.json;
  if (table)
    fmt::print(
        "{}, batch {} x {} ranks; ms a step, medians of turns; ratio: step / max(no comm, comm "
        "only)\n{:<10} {:>7} {:>9} {:>9} {:>9} {:>7} {:>8} {:>9} {:>9} {:>8}\n",
        options.model, options.batch, world.ranks(), "plan", "buckets", "step", "no comm",
        "comm only", "ratio", "overlap", "exposed", "waiting", "interf.");
  std::optional<Measured> best;
  for (const std::string& plan : options.plans) {
    const Measured measured = bench.measure(plan);
    if (!best || measured.ratio < best->ratio) best = measured;
    if (!world.first()) continue;
    fmt::print("{}\n", options.json ? json_of(options, world, measured).dump() : row_of(measured));
    std::fflush(stdout);
  }
  if (table) fmt::print("best: --bucket-size {} ({:.3f} x)\n", best->plan, best->ratio);
}

int run_program(int argc, char** argv) {
  Options options;
  RankOptions ranks;
  CLI::App app("Times the training step of several ranks by bucket plan.", "bench_overlap");
  app.add_option("--model", options.model, "a model of annulus train")->capture_default_str();
  app.add_option("--batch-size", options.batch, "images per rank")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "for each bucket plan")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--plans", options.plans,
                 "bucket plans as --bucket-size takes them, a semicolon between them")
      ->capture_default_str()
      ->delimiter(';');
  app.add_flag("--json", options.json, "one JSON object a plan instead of a table");
  ranks.ranks = "2";
  add_rank_options(app, ranks);
  CLI11_PARSE(app, argc, argv);
  return run_as_ranks(ranks, std::vector<std::string>(argv, argv + argc), {}, [&](World& world) {
    if (!world.control) throw UserError(ExitCode::usage, "--ranks: two or more are needed");
    run(options, world);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_program(argc, argv);
  } catch (...) {
    const Outcome outcome = outcome_of(std::current_exception());
    fmt::print(stderr, "bench_overlap: {}\n", outcome.message);
    return static_cast<int>(outcome.code);
  }
}
