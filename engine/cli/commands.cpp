// `annulus train` and `annulus eval`: options in, the engine's calls, lines out. Results go to
// stdout, all else to stderr.
#include "engine/cli/commands.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "engine/model/models.h"
#include "engine/run_config.h"
#include "engine/safetensors.h"

namespace annulus {
namespace {

// Must come before the first CUDA call: the CPU device reads its settings once.
void choose_device(const std::string& device, int threads) {
  if (device == "cuda")
    throw UserError(ExitCode::device,
                    "--device cuda: this build has only the CPU device; build the cuda preset, or "
                    "use --device cpu");
  if (threads > 0) setenv("ANNULUS_CPU_THREADS", std::to_string(threads).c_str(), 1);
}

Datasets load(const std::string& spec) {
  Datasets data = load_datasets({.spec = spec});
  if (data.choice == DataChoice::fallback) fmt::print(stderr, "{}\n", how_to_get_cifar10());
  fmt::print(stderr, "data: {}, {} training and {} test images\n",
             data.source == "synthetic" ? data.source
                                        : fmt::format("{} in {}", data.train.name, data.source),
             data.train.size(), data.test.size());
  return data;
}

}  // namespace

void run_train(TrainCommand& command, const std::vector<std::string>& command_line) {
  command.resolve();
  const TrainOptions& options = command.options;
  choose_device(command.device, command.threads);
  const Datasets data = load(command.data);
  const TrainPlan plan = plan_training(options, data.train.size());
  const RunFolder folder(
      command.out.empty() ? default_run_path(options.model) : std::filesystem::path(command.out),
      run_config(options, data, command.threads, command_line));
  fmt::print(stderr, "{}: {}\nrun folder: {}\n", options.model, plan.describe(),
             folder.path().string());
  train(options, data, folder);
}

void run_eval(const EvalCommand& command) {
  choose_device(command.device, command.threads);
  std::filesystem::path path = command.weights;
  if (std::filesystem::is_directory(path)) path /= "model.safetensors";
  const ModelEntry& entry =
      find_model(command.model.empty() ? saved_model_name(path) : command.model);
  const Datasets data = load(command.data);
  const Model model = entry.build({.image = data.test.image, .classes = data.test.classes});

  const Device device;
  const ResidentData test(data.test, data.mean, data.std_dev);
  Weights weights(model, 0);
  load_weights(path, model, weights);
  const Evaluation result = Evaluator(model, device, test, command.batch_size).run(weights);
  fmt::print("{} samples={} val_loss={:.4f} val_accuracy={:.4f}\n",
             timestamp(std::chrono::system_clock::now()), result.samples, result.loss,
             result.accuracy);
}

}  // namespace annulus
