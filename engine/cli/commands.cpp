// `annulus train` and `annulus eval`: options in, the engine's calls, lines out. Results go to
// stdout, all else to stderr.
#include "engine/cli/commands.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "comm/console.h"
#include "engine/cli/ranks.h"
#include "engine/model/models.h"
#include "engine/report.h"
#include "engine/run_config.h"
#include "engine/model_file.h"
#include "engine/trainer.h"

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

Datasets load(const std::string& spec, bool speak = true) {
  Datasets data = load_datasets({.spec = spec});
  if (!speak) return data;
  if (data.choice == DataChoice::fallback) note(how_to_get_cifar10() + "\n");
  note(fmt::format("data: {}, {} training and {} test images\n",
                   data.source == "synthetic"
                       ? data.source
                       : fmt::format("{} in {}", data.train.name, data.source),
                   data.train.size(), data.test.size()));
  return data;
}

// Rank 0 makes the folder; the others learn where it is.
RunFolder make_run_folder(const TrainCommand& command, const Datasets& data, const World& world,
                          const std::vector<std::string>& command_line) {
  const TrainOptions& options = command.options;
  if (!world.first()) return RunFolder(world.control->broadcast(""));
  RunFolder folder(
      command.out.empty() ? default_run_path(options.model) : std::filesystem::path(command.out),
      run_config(options, world, data, command.threads, command_line));
  if (world.control) world.control->broadcast(std::filesystem::absolute(folder.path()).string());
  return folder;
}

void train_as_rank(TrainCommand& command, World& world,
                   const std::vector<std::string>& command_line) {
  const TrainOptions& options = command.options;
  const Datasets data = load(command.data, world.first());
  if (!world.identity.alone() && data.choice == DataChoice::fallback)
    throw UserError(ExitCode::data,
                    "several ranks train only on data that was chosen; say --data FOLDER or --data "
                    "synthetic");
  const TrainPlan plan = plan_training(options, world.ranks(), data.train.size());
  if (world.first()) check_report_files(options);
  const RunFolder folder = make_run_folder(command, data, world, command_line);
  if (world.first())
    note(fmt::format("{}: {}\nrun folder: {}\n", options.model, plan.describe(),
                     folder.path().string()));
  train(options, data, world, folder);
}

}  // namespace

int run_train(TrainCommand& command, const std::vector<std::string>& command_line) {
  command.resolve();
  choose_device(command.device, command.threads);
  return run_as_ranks(command.ranks, command_line, train_facts(command.options),
                      [&](World& world) { train_as_rank(command, world, command_line); });
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
  print_line(fmt::format("{} samples={} val_loss={:.4f} val_accuracy={:.4f}",
                         timestamp(std::chrono::system_clock::now()), result.samples, result.loss,
                         result.accuracy));
}

}  // namespace annulus
