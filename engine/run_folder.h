// A run's folder: config.json (what was run, on what, with what), metrics.jsonl (a line an epoch),
// model.safetensors, checkpoints/, starts.jsonl. Made, and found to be writable, before training
// starts. Called by `annulus train` and the trainer.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace annulus {

class RunFolder {
 public:
  // Creates the folder and writes config.json. Throws UserError: storage where it cannot be made or
  // written, usage where it already holds a run.
  RunFolder(std::filesystem::path path, const nlohmann::ordered_json& config);

  // A run that goes on: writes config.json anew and leaves as many epochs in metrics.jsonl as the
  // checkpoint has seen whole. Throws UserError (storage).
  static RunFolder reopen(std::filesystem::path path, const nlohmann::ordered_json& config,
                          std::size_t epochs);

  // The folder of a run whose rank 0 made it.
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path starts() const { return path_ / "starts.jsonl"; }
  std::filesystem::path config() const { return path_ / "config.json"; }
  std::filesystem::path weights() const { return path_ / "model.safetensors"; }

  void write(const std::string& name, const std::string& text) const;
  void append_metrics(const std::string& json_line) const;  // whole lines only, flushed

 private:
  std::filesystem::path path_;
};

// "runs/20260102-030405-seed-cnn", UTC; a number is added where that folder exists.
std::filesystem::path default_run_path(const std::string& model);

}  // namespace annulus
