// `annulus eval`, and what it shares with `annulus train`: options in, the engine's calls, lines
// out. Results go to stdout, all else to stderr.
#include "engine/cli/commands.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "comm/console.h"
#include "data/file_writer.h"
#include "engine/batch_fit.h"
#include "engine/cli/device.h"
#include "engine/evaluate.h"
#include "engine/metrics.h"
#include "engine/model/models.h"
#include "engine/model_file.h"
#include "engine/precision.h"
#include "engine/predictions.h"
#include "engine/runs/run_record.h"
#include "engine/visible_devices.h"

namespace annulus {

Datasets load_data(const std::string& spec, bool speak) {
  Datasets data = load_datasets({.spec = spec});
  if (!speak) return data;
  if (data.choice == DataChoice::fallback) note(how_to_get_data());
  note(fmt::format("data: {}, {} training and {} test images\n",
                   data.source == "synthetic"
                       ? data.source
                       : fmt::format("{} in {}", data.train.name, data.source),
                   data.train.size(), data.test.size()));
  return data;
}

namespace {

void warn_of_other_data(const runs::RunRecord& run, const Datasets& data) {
  const std::string trained_on = run.config_text("/data/sha256");
  if (!trained_on.empty() && trained_on != data.checksum)
    note("warning: the weights were trained on other data than this\n");
}

// What is asked for, else what the run trained in; weights that lie in no run's folder were fp32.
Precision precision_of(const EvalCommand& command, const runs::RunRecord& run) {
  if (!command.precision.empty()) return parse_precision(command.precision);
  const auto config = run.folder / "config.json";
  if (!std::filesystem::exists(config)) return kFp32;
  const std::optional<Precision> found = find_precision(run.config_text("/precision"));
  if (!found)
    throw UserError(ExitCode::data, fmt::format("{}: does not say in which precision its run "
                                                "trained; is it damaged? Say --precision",
                                                config.string()));
  return *found;
}

}  // namespace

void run_eval(const EvalCommand& command) {
  choose_device(command.device, command.threads);
  device_count();
  std::filesystem::path path = command.weights;
  if (std::filesystem::is_directory(path)) path /= "model.safetensors";
  const ModelFile file(path);
  const ModelEntry& entry = find_model(command.model.empty() ? file.model_name() : command.model);
  const runs::RunRecord run = runs::read_run(path.parent_path());  // in whose folder they lie
  const Datasets data =
      load_data(command.data.empty() ? run.config_text("/data/source") : command.data);
  file.expect_images(data.test.image);
  warn_of_other_data(run, data);
  const Model model = entry.build({.image = data.test.image, .classes = data.test.classes});

  const Precision precision = precision_of(command, run);
  require_precision(precision);
  const Device device;
  const Normalisation normalisation =
      file.normalisation().value_or(Normalisation{data.mean, data.std_dev});
  const ResidentData test(data.test, normalisation.mean, normalisation.std_dev);
  Weights weights(model, 0);
  file.load(model, weights);
  Buffer<float> logits;
  if (!command.predictions.empty()) logits = Buffer<float>(test.size() * model.classes());
  std::optional<Evaluator> evaluator;
  make_for_batch(command.batch_size,
                 [&](int images) { evaluator.emplace(model, device, test, images, precision); });
  const Evaluation result = evaluator->run(weights, nullptr, logits.span());
  note(overflow_note(result, precision));
  if (!command.predictions.empty())
    write_file(command.predictions, prediction_lines(data.test, logits.download()));
  print_line(fmt::format("{} samples={}{}{}", timestamp(std::chrono::system_clock::now()),
                         result.samples, name_and_value("val_loss", result.loss),
                         name_and_value("val_accuracy", result.accuracy)));
}

}  // namespace annulus
