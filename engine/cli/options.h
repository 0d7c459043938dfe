// The command line: every long option with its unit and default, each with an ANNULUS_* twin in the
// environment (--batch-size and ANNULUS_BATCH_SIZE). A flag beats its twin; the twin beats the
// model's recipe. Called by main alone.
#pragma once

#include <optional>
#include <string>

#include "engine/cli/cli11.h"
#include "engine/cli/rank_options.h"
#include "engine/train_plan.h"

namespace annulus {

struct TrainCommand {
  TrainOptions options;
  RankOptions ranks;
  std::string data;  // folder or "synthetic"; empty: $ANNULUS_DATA, else synthetic
  std::string out;   // empty: runs/<time>-<model>
  std::string device = "auto";
  int threads = 0;                    // 0: the cores this process may use
  std::string config;                 // of a run to repeat
  std::string data_checksum;          // of its data; empty: any will do
  std::string resume;                 // auto, a run folder or a checkpoint; empty: a new run
  std::size_t starts_per_update = 2;  // 0: any number

  // What the command line leaves to the model's recipe.
  std::optional<int> epochs, translate, cutout;
  std::optional<double> warmup, momentum, weight_decay, label_smoothing, dropout_scale;
  std::optional<std::string> optimizer, schedule;
  std::optional<bool> flip;

  void resolve();  // fills options.recipe from the model's recipe and the choices above
};

struct EvalCommand {
  std::string weights;      // model.safetensors or a run folder
  std::string predictions;  // file to write; empty: none
  std::string model;        // empty: what the file says
  std::string data, device = "auto";
  int threads = 0;
  int batch_size = 500;
  std::string precision;  // empty: that of the run in whose folder the weights lie, else fp32
};

void add_train_options(CLI::App& app, TrainCommand& command);
void add_eval_options(CLI::App& app, EvalCommand& command);
// Of train and of plan.
void add_precision_option(CLI::App& app, const char* group, std::string& precision);
void add_replace_option(CLI::App& app, const char* group, std::string& replace);

}  // namespace annulus
