// See run_config.h. The CPU features are those that oneDNN chooses its code by: other
// features, other last bits.
#include "engine/run_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/build_info.h"
#include "engine/model/models.h"

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

Json recipe_json(const Recipe& r) {
  return {{"epochs", r.epochs},
          {"optimizer", r.optimizer},
          {"schedule", r.schedule},
          {"warmup", r.warmup},
          {"momentum", r.momentum},
          {"weight_decay", r.weight_decay},
          {"label_smoothing", r.label_smoothing},
          {"dropout_scale", r.dropout_scale},
          {"batchnorm_momentum", r.batchnorm_momentum},
          {"flip", r.flip},
          {"translate", r.translate},
          {"cutout", r.cutout}};
}

Json build_json() {
  const BuildInfo& info = build_info();
  return {{"version", info.version},   {"commit", info.commit}, {"dirty", info.dirty},
          {"compiler", info.compiler}, {"flags", info.flags},   {"build_type", info.build_type},
          {"cuda", info.cuda},         {"onednn", info.onednn}};
}

std::vector<std::string> cpu_features() {
  std::vector<std::string> features;
  const auto note = [&](const char* name, bool present) {
    if (present) features.emplace_back(name);
  };
  note("avx2", __builtin_cpu_supports("avx2"));
  note("fma", __builtin_cpu_supports("fma"));
  note("avx512f", __builtin_cpu_supports("avx512f"));
  note("avx512bw", __builtin_cpu_supports("avx512bw"));
  note("avx512vl", __builtin_cpu_supports("avx512vl"));
  note("avx512vnni", __builtin_cpu_supports("avx512vnni"));
  note("avx512bf16", __builtin_cpu_supports("avx512bf16"));
  return features;
}

Json machine_json(int threads) {
  int device = 0;
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  return {{"device", properties.name}, {"threads", threads}, {"cpu_features", cpu_features()}};
}

Json data_json(const Datasets& data) {
  return {{"name", data.train.name},         {"source", data.source},
          {"sha256", data.checksum},         {"train_images", data.train.size()},
          {"test_images", data.test.size()}, {"mean", data.mean},
          {"std_dev", data.std_dev}};
}

Json options_json(const TrainOptions& options) {
  return {{"model", options.model},
          {"batch_size", options.batch_size},
          {"virtual_ranks", options.virtual_ranks},
          {"sum_order", options.sum_order},
          {"drop_last", options.drop_last},
          {"seed", options.seed},
          {"max_steps", options.max_steps},
          {"bucket_size", options.bucket_size},
          {"precision", options.precision},
          {"wire", options.wire},
          {"sync_batchnorm", options.sync_batchnorm},
          {"no_graph", !options.graph},
          {"deterministic", options.deterministic},
          {"replace", options.replace},
          {"no_comm", !options.communicate},
          {"comm_only", !options.compute},
          {"trace", options.trace},
          {"checkpoint_every", options.checkpoint_every},
          {"keep_checkpoints", options.keep_checkpoints},
          {"lr", options.learning_rate}};
}

}  // namespace

Json run_config(const TrainOptions& options, const TrainPlan& plan, const World& world,
                const Datasets& data, int threads, const std::vector<std::string>& command_line) {
  Json config;
  config["command"] = command_line;
  config.update(options_json(options));
  config["tensorboard"] = options.tensorboard;  // rank 0's alone, so no fact that ranks compare
  config["ranks"] = world.ranks();
  config["launched_by"] = world.identity.source;
  config["global_batch"] = plan.batches.global_batch();
  config["updates"] = plan.updates;
  config["peak_learning_rate"] = plan.schedule.peak;
  config["recipe"] = recipe_json(options.recipe);
  config["data"] = data_json(data);
  config["build"] = build_json();
  config["machine"] = machine_json(threads);
  return config;
}

std::vector<Fact> train_facts(const TrainOptions& options) {
  std::vector<Fact> facts;
  for (const Json& part : {options_json(options), recipe_json(options.recipe)})
    for (const auto& [name, value] : part.items()) facts.push_back({name, value.dump()});
  return facts;
}

}  // namespace annulus
