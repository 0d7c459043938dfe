// A run's folder: config.json (what was run, on what, with what), metrics.jsonl (a line an epoch),
// model.safetensors. Made, and found to be writable, before training starts. Called by `annulus
// train` and the trainer.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace annulus {

class RunFolder {
 public:
  // Creates the folder and writes config.json. Throws UserError: storage where it cannot be made or
  // written, usage where it already holds a run.
  RunFolder(std::filesystem::path path, const nlohmann::ordered_json& config);

  // The folder of a run whose rank 0 made it.
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path weights() const { return path_ / "model.safetensors"; }

  void write(const std::string& name, const std::string& text) const;
  void append_metrics(const std::string& json_line) const;  // whole lines only, flushed

 private:
  std::filesystem::path path_;
};

// "runs/20260102-030405-seed-cnn", UTC; a number is added where that folder exists.
std::filesystem::path default_run_path(const std::string& model);

}  // namespace annulus
