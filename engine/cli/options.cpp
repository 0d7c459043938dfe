// See options.h. Help texts give the unit and, where CLI11 does not know it, the default.
#include "engine/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "engine/cli/add_option.h"
#include "engine/model/models.h"
#include "engine/precision.h"

namespace annulus {
namespace {

void add_flag(CLI::App& app, const char* group, const char* flag, const char* help,
              const std::function<void()>& given) {
  app.add_flag_callback(flag, given, help)->envname(environment_twin(flag))->group(group);
}

// "seed-cnn|resnet-8|mlp".
std::string model_names() {
  std::string names;
  for (const ModelEntry& entry : models()) names += (names.empty() ? "" : "|") + entry.name;
  return names;
}

void add_data_option(CLI::App& app, const char* group, std::string& data) {
  // No envname: an empty --data is resolved by load_datasets, which then knows who chose.
  app.add_option(
         "--data", data,
         "CIFAR-10, CIFAR-100, MNIST or Fashion-MNIST: its folder, or the .tar.gz; synthetic: "
         "made-up images (default: $ANNULUS_DATA, else synthetic)")
      ->option_text("PATH|synthetic")
      ->group(group);
}

void add_device_options(CLI::App& app, std::string& device, int& threads) {
  const char* group = "Device";
  add(app, group, "--device", device,
      "where to compute: on GPUs or on the CPU; auto: GPUs where this build and the machine "
      "have them")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  add(app, group, "--threads", threads,
      "CPU threads, 0: all cores; the result does not depend on it")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

// What a user says first.
void add_run_options(CLI::App& app, TrainCommand& c) {
  const char* group = "Run";
  add(app, group, "--model", c.options.model, "the network")
      ->option_text(model_names())
      ->capture_default_str();
  add_data_option(app, group, c.data);
  add(app, group, "--epochs", c.epochs,
      fmt::format("passes over the training images (default: {})", Recipe{}.epochs))
      ->check(CLI::Range(1, 1000000));
  add(app, group, "--batch-size", c.options.batch_size, "images per rank and update")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add(app, group, "--seed", c.options.seed, "of initial weights, order, augmentation and dropout")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_recipe_options(CLI::App& app, TrainCommand& c) {
  const char* group = "Recipe (default: the model's own)";
  add(app, group, "--optimizer", c.optimizer, "sgd is with Nesterov's momentum")
      ->option_text("sgd|adam|adamw");
  add(app, group, "--lr", c.options.learning_rate,
      "peak learning rate (default: the model's x global batch / 1024; adam 0.001)")
      ->check(CLI::PositiveNumber);
  add(app, group, "--schedule", c.schedule, "the rate's way through the run")
      ->option_text("constant|warm-up|one-cycle|cosine");
  add(app, group, "--warmup", c.warmup, "share of all updates that the rate rises, 0 to 0.99")
      ->check(CLI::Range(0.0, 0.99));
  add(app, group, "--momentum", c.momentum, "of sgd, 0 to 0.9999")->check(CLI::Range(0.0, 0.9999));
  add(app, group, "--weight-decay", c.weight_decay, "on weights, not on biases or BatchNorm")
      ->check(CLI::NonNegativeNumber);
  add(app, group, "--label-smoothing", c.label_smoothing, "0 to 0.99")
      ->check(CLI::Range(0.0, 0.99));
  add(app, group, "--dropout-scale", c.dropout_scale,
      "factor on the model's dropout rates, 0 to 1.9")
      ->check(CLI::Range(0.0, 1.9));
  add(app, group, "--flip", c.flip, "mirror each image in every other epoch")
      ->option_text("true|false");
  add(app, group, "--translate", c.translate, "random shift, up to 16 pixels each way")
      ->check(CLI::Range(0, 16));
  add(app, group, "--cutout", c.cutout, "side of a blanked square, up to 32 pixels; 0: none")
      ->check(CLI::Range(0, 32));
  add(app, group, "--drop-last", c.options.drop_last, "leave out the short last batch of an epoch")
      ->capture_default_str();
}

void add_communication_options(CLI::App& app, TrainCommand& c) {
  const char* group = "Sums between ranks";
  add(app, group, "--bucket-size", c.options.bucket_size,
      "bytes of the first gradient bucket, then of those that follow; K M G")
      ->option_text("SIZE,SIZE")
      ->capture_default_str();
  add(app, group, "--wire", c.options.wire, "as what gradients travel")
      ->option_text("fp32|bf16|fp16")
      ->capture_default_str();
  add_flag(app, group, "--sync-batchnorm",
           "BatchNorm over the images of all ranks, not each its own",
           [&c] { c.options.sync_batchnorm = true; });
  add(app, group, "--virtual-ranks", c.options.virtual_ranks,
      "do the work of this many ranks on one device; global batch = batch size x ranks")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  add(app, group, "--sum-order", c.options.sum_order,
      "how virtual ranks are added: as shared memory does, or the TCP ring")
      ->option_text("rank|ring")
      ->capture_default_str();
}

void add_train_device_options(CLI::App& app, TrainCommand& c) {
  add_device_options(app, c.device, c.threads);
  add_flag(app, "Device", "--deterministic",
           "pin what cuDNN and NCCL may choose anew: the same bits on every run, at some speed",
           [&c] { c.options.deterministic = true; });
  add_flag(app, "Device", "--no-graph",
           "queue the calls of a step one by one, not as one CUDA graph; the result is the same",
           [&c] { c.options.graph = false; });
  add_precision_option(app, "Device", c.options.precision);
  add_replace_option(app, "Device", c.options.replace);
}

void add_measurement_options(CLI::App& app, TrainCommand& c) {
  const char* group = "Measurement";
  add(app, group, "--max-steps", c.options.max_steps, "stop after this many updates; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_flag(app, group, "--trace", "the last 16 steps of all ranks in RUN/trace.json, for Perfetto",
           [&c] { c.options.trace = true; });
  add_flag(app, group, "--no-comm", "the step without its all-reduces; the ranks drift apart",
           [&c] { c.options.communicate = false; });
  add_flag(app, group, "--comm-only", "the step's all-reduces alone",
           [&c] { c.options.compute = false; });
}

void add_checkpoint_options(CLI::App& app, TrainCommand& c) {
  const char* group = "Stop, resume, repeat";
  add(app, group, "--resume", c.resume,
      "go on with a run: its folder, one of its checkpoints, or auto: the newest in --out, else "
      "the "
      "latest run in runs/; a folder that is not there yet is begun")
      ->option_text("RUN|FILE|auto");
  add(app, group, "--checkpoint-every", c.options.checkpoint_every,
      "500 (updates), 500steps, 10min, 1epoch or never")
      ->option_text("INTERVAL|never")
      ->capture_default_str();
  add(app, group, "--keep-checkpoints", c.options.keep_checkpoints, "how many of the last are kept")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add(app, group, "--starts-per-update", c.starts_per_update,
      "refuse a further start after so many from one update without progress; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add(app, group, "--config", c.config,
      "take what is not said here from the config.json of a run, to repeat it")
      ->option_text("FILE");
}

void add_output_options(CLI::App& app, TrainCommand& c) {
  const char* group = "Output";
  add(app, group, "--out", c.out,
      "run folder: config.json, metrics.jsonl, model.safetensors (default: runs/TIME-MODEL)")
      ->option_text("FOLDER");
  app.add_flag("--tensorboard", c.options.tensorboard,
               "write the metrics for TensorBoard into the run folder too")
      ->envname("ANNULUS_TENSORBOARD")
      ->group(group);
  add(app, group, "--katib-metrics", c.options.katib_metrics,
      "for Katib's JSON file collector: a line of strings an epoch")
      ->option_text("FILE");
  add(app, group, "--metrics-port", c.ranks.metrics_port,
      "serve /metrics (Prometheus), /healthz and /readyz there, by the first rank of each pod "
      "(default: none is served)")
      ->check(CLI::Range(1, 65535));
}

}  // namespace

void add_train_options(CLI::App& app, TrainCommand& c) {
  add_run_options(app, c);
  add_output_options(app, c);
  add_checkpoint_options(app, c);
  add_recipe_options(app, c);
  add_rank_options(app, c.ranks);
  add_communication_options(app, c);
  add_train_device_options(app, c);
  add_measurement_options(app, c);
}

void add_eval_options(CLI::App& app, EvalCommand& c) {
  const char* group = "What to evaluate";
  add(app, group, "--weights", c.weights, "a run folder, or a model.safetensors")
      ->option_text("RUN|FILE")
      ->required();
  add_data_option(app, group, c.data);
  add(app, group, "--model", c.model, "the network (default: what the file says)")
      ->option_text(model_names());
  add(app, group, "--predictions", c.predictions,
      "write a JSON line an image: label, class, logits")
      ->option_text("FILE");
  add(app, group, "--batch-size", c.batch_size, "images at a time; the result hardly depends on it")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_device_options(app, c.device, c.threads);
  add(app, "Device", "--precision", c.precision,
      "of activations (default: what the run of the weights trained in, else fp32)")
      ->option_text(precision_names());
}

void add_precision_option(CLI::App& app, const char* group, std::string& precision) {
  add(app, group, "--precision", precision,
      "what activations are, and the weights that products read; tf32 rounds products' inputs "
      "alone; "
      "fp16 scales its loss and skips updates that overflow; tf32 and bf16 need compute capability "
      "8.0")
      ->option_text(precision_names())
      ->capture_default_str();
}

void add_replace_option(CLI::App& app, const char* group, std::string& replace) {
  add(app, group, "--replace", replace,
      "train with cuDNN's BatchNorm, Dropout or, with a comma, both in place of ours")
      ->option_text("none|batchnorm=cudnn|dropout=cudnn")
      ->capture_default_str();
}

void TrainCommand::resolve() {
  Recipe& recipe = options.recipe;
  recipe = find_model(options.model).recipe;
  const auto choose = [](const auto& choice, auto& target) {
    if (choice) target = *choice;
  };
  choose(epochs, recipe.epochs);
  choose(optimizer, recipe.optimizer);
  choose(schedule, recipe.schedule);
  choose(warmup, recipe.warmup);
  choose(momentum, recipe.momentum);
  choose(weight_decay, recipe.weight_decay);
  choose(label_smoothing, recipe.label_smoothing);
  choose(dropout_scale, recipe.dropout_scale);
  choose(flip, recipe.flip);
  choose(translate, recipe.translate);
  choose(cutout, recipe.cutout);
}

}  // namespace annulus
