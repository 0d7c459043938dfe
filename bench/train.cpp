// bench_train: how fast the whole training step runs and where its time goes. Images/s of full
// steps (median of several, with the spread), then each layer's forward and backward by themselves,
// as GFLOP/s and as a share of what this machine's FMA units can do, measured in the same run; or,
// with --compare-graph, a step as one CUDA graph beside the same step call by call, in turn. Random
// images: no data set is needed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "bench/machine.h"
#include "bench/random_images.h"
#include "engine/model/models.h"
#include "engine/precision.h"
#include "engine/step.h"
#include "kernels/softmax_xent.h"

namespace {

using namespace annulus;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string model = "seed-cnn", precision = "fp32";
  int batch = 64, virtual_ranks = 1, threads = 2;
  double seconds = 10;
  bool layers = true, json = false, graph = true, compare_graph = false;
};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Spread {
  double median = 0, smallest = 0, largest = 0;
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

// What every part of this bench works on.
struct Subject {
  explicit Subject(const Options& options)
      : batches{.samples = 4 * std::size_t(options.batch) * options.virtual_ranks,
                .ranks = options.virtual_ranks,
                .batch_per_rank = options.batch},
        entry(find_model(options.model)),
        model(entry.build({.dropout_scale = float(entry.recipe.dropout_scale)})),
        precision(parse_precision(options.precision)),
        data(bench::random_images(batches.samples), {128, 128, 128, 0}, {64, 64, 64, 1}),
        weights(model, 1),
        optimizer(model, entry.recipe) {}

  Batches batches;
  const ModelEntry& entry;
  Model model;
  Precision precision;
  Device device;
  ResidentData data;
  Weights weights;
  Optimizer optimizer;
};

// The full step of a subject, whose weights it changes.
class FullStep {
 public:
  FullStep(Subject& subject, bool graph)
      : batches_(subject.batches),
        step_(subject.model, subject.device, subject.data,
              {.batches = subject.batches,
               .precision = subject.precision,
               .label_smoothing = float(subject.entry.recipe.label_smoothing),
               .augmentation = augmentation(subject),
               .graph = graph},
              subject.weights, subject.optimizer, [](const StepResult&, const StepTimes&) {}) {
    for (int i = 0; i < kWarmUp; ++i) milliseconds();
  }

  double milliseconds() {
    const auto start = Clock::now();
    step_.run(0, steps_++ % batches_.steps(), 1e-4f);
    step_.finish();
    return milliseconds_since(start);
  }

 private:
  static constexpr int kWarmUp = 5;  // the first as it is, then a capture for each step in flight

  static Augmentation augmentation(const Subject& subject) {
    Augmentation augmentation = subject.data.normalisation();
    augmentation.flip = subject.entry.recipe.flip;
    augmentation.translate = subject.entry.recipe.translate;
    return augmentation;
  }

  const Batches batches_;
  TrainStep step_;
  std::size_t steps_ = 0;
};

std::vector<double> time_steps(Subject& subject, const Options& options) {
  FullStep step(subject, options.graph);
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.size() < 5 || milliseconds_since(begin) < 1000 * options.seconds)
    times.push_back(step.milliseconds());
  return times;
}

// The two in turn, each first every other time, so that a neighbour's load meets both.
void compare_graph(Subject& subject, const Options& options) {
  FullStep graph(subject, true), calls(subject, false);
  std::vector<double> graph_times, call_times, ratios;
  const auto begin = Clock::now();
  while (ratios.size() < 5 || milliseconds_since(begin) < 1000 * options.seconds) {
    const bool graph_first = ratios.size() % 2 == 0;
    if (graph_first) graph_times.push_back(graph.milliseconds());
    call_times.push_back(calls.milliseconds());
    if (!graph_first) graph_times.push_back(graph.milliseconds());
    ratios.push_back(graph_times.back() / call_times.back());
  }
  const Spread ratio = spread_of(ratios);
  fmt::print(
      "{} batch {} x {} ranks, {} threads: as one graph {:.3f} ms, call by call {:.3f} ms "
      "(medians of {}); ratio {:.4f} (median of pairs)\n",
      options.model, options.batch, options.virtual_ranks, options.threads,
      spread_of(graph_times).median, spread_of(call_times).median, ratios.size(), ratio.median);
}

struct LayerTime {
  const Layer* layer;
  double forward = 0, backward = 0;  // ms, medians
};

// Each layer's calls by themselves, on the memory that the plan gave them.
std::vector<LayerTime> time_layers(Subject& subject, int batch) {
  constexpr int kRuns = 15;
  Plan plan(subject.model, subject.device, batch, PlanKind::training, subject.precision);
  Buffer<std::byte> activations(plan.activation_bytes());
  CUDA_CHECK(cudaMemset(activations.span().data, 0x11, activations.bytes()));  // small numbers
  Buffer<std::byte> workspace(plan.workspace_bytes());
  Buffer<float> gradients(std::vector<float>(subject.model.layout().size(), 0.f));
  Buffer<StepState> state(std::vector<StepState>(1, StepState{}));
  Buffer<std::int32_t> labels(batch);
  plan.bind(activations.span(), workspace.span());
  const GradientLayout& layout = subject.model.layout();
  const RoundedWeights rounded(subject.precision, layout.parameters);
  const Pass pass{.device = subject.device,
                  .parameters = subject.weights.parameters.span(),
                  .weights = rounded.of(subject.weights.parameters.cspan(), nullptr),
                  .gradients = gradients.span().subspan(layout.head(), layout.parameters),
                  .statistics = gradients.span().subspan(layout.kStatistics, layout.statistics),
                  .running = subject.weights.running.cspan(),
                  .state = state.cspan()};

  const std::size_t count = plan.calls().size();
  std::vector<std::vector<double>> forward(count), backward(count);
  const auto timed = [&](std::vector<double>& times, const auto& run) {
    const auto start = Clock::now();
    run();
    subject.device.compute.synchronize();
    times.push_back(milliseconds_since(start));
  };
  for (int run = 0; run < kRuns; ++run) {
    subject.data.load(pass.stream(), state.cspan(), 0, subject.data.normalisation(), plan.input(),
                      labels.span());
    subject.device.compute.synchronize();
    for (std::size_t i = 0; i < count; ++i) {
      const Plan::Call& call = plan.calls()[i];
      timed(forward[i], [&] { call.layer->forward(pass, call.bound); });
    }
    for (std::size_t i = count; i-- > 0;)
      timed(backward[i], [&] { plan.backward_call(pass, plan.calls()[i]); });
  }
  std::vector<LayerTime> times;
  for (std::size_t i = 0; i < count; ++i)
    times.push_back(
        {plan.calls()[i].layer, spread_of(forward[i]).median, spread_of(backward[i]).median});
  return times;
}

std::string share(double flops, double ms, double peak_gflops) {
  if (flops == 0 || ms == 0) return "";
  const double gflops = flops / ms * 1e-6;
  return fmt::format("{:.1f} ({:.0f} %)", gflops, 100 * gflops / peak_gflops);
}

void print_layers(const std::vector<LayerTime>& times, int batch, double peak_gflops) {
  double total = 0;
  for (const LayerTime& t : times) total += t.forward + t.backward;
  fmt::print("{:<8} {:>12} {:>9} {:>9} {:>7} {:>16} {:>16}\n", "layer", "output", "fwd ms",
             "bwd ms", "share", "fwd GFLOP/s", "bwd GFLOP/s");
  for (std::size_t i = 0; i < times.size(); ++i) {
    const LayerTime& t = times[i];
    const ImageShape& out = t.layer->out();
    const double flops = t.layer->forward_flops() * batch;
    const double backward_flops = flops * (i == 0 ? 1 : 2);  // nobody needs the images' gradient
    fmt::print("{:<8} {:>12} {:>9.3f} {:>9.3f} {:>6.1f}% {:>16} {:>16}\n", t.layer->name(),
               fmt::format("{}x{}x{}", out.height, out.width, out.channels), t.forward, t.backward,
               100 * (t.forward + t.backward) / total, share(flops, t.forward, peak_gflops),
               share(backward_flops, t.backward, peak_gflops));
  }
  fmt::print("{:<8} {:>12} {:>19.3f} ms in layers\n", "sum", "", total);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times the training step: images/s, then each layer.", "bench_train");
  app.add_option("--model", options.model, "a model of annulus train")->capture_default_str();
  app.add_option("--precision", options.precision, precision_names())->capture_default_str();
  app.add_option("--batch-size", options.batch, "images per rank")->capture_default_str();
  app.add_option("--virtual-ranks", options.virtual_ranks)->capture_default_str();
  app.add_option("--threads", options.threads, "CPU threads")->capture_default_str();
  app.add_option("--seconds", options.seconds, "of full steps")->capture_default_str();
  app.add_flag("--graph,!--no-graph", options.graph, "a step is one CUDA graph");
  app.add_flag("--compare-graph", options.compare_graph, "with and without, in turn, and no more");
  app.add_flag("--layers,!--no-layers", options.layers, "time each layer too");
  app.add_flag("--json", options.json, "one JSON object instead of tables");
  CLI11_PARSE(app, argc, argv);
  setenv("ANNULUS_CPU_THREADS", std::to_string(options.threads).c_str(), 1);

  Subject subject(options);
  if (options.compare_graph) {
    compare_graph(subject, options);
    return 0;
  }
  const Spread step = spread_of(time_steps(subject, options));
  const double images = double(options.batch) * options.virtual_ranks;
  const double images_per_second = 1000 * images / step.median;
  const double gflops = images_per_second * subject.model.training_flops() * 1e-9;
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"model", options.model},
                                      {"precision", options.precision},
                                      {"batch_size", options.batch},
                                      {"virtual_ranks", options.virtual_ranks},
                                      {"threads", options.threads},
                                      {"images_per_sec", images_per_second},
                                      {"images_per_sec_min", 1000 * images / step.largest},
                                      {"images_per_sec_max", 1000 * images / step.smallest},
                                      {"gflops", gflops}}
                           .dump());
    return 0;
  }
  const double peak = bench::measure_machine(static_cast<unsigned>(options.threads)).gflops;
  fmt::print(
      "{} {} batch {} x {} ranks, {} threads: {:.1f} images/s (median; {:.1f} to {:.1f}), "
      "{:.1f} GFLOP/s = {:.0f} % of {:.0f} GFLOP/s FMA peak\n\n",
      options.model, options.precision, options.batch, options.virtual_ranks, options.threads,
      images_per_second, 1000 * images / step.largest, 1000 * images / step.smallest, gflops,
      100 * gflops / peak, peak);
  if (options.layers) print_layers(time_layers(subject, options.batch), options.batch, peak);
  return 0;
}
