// starts.jsonl in a run's folder: a line when the run starts, another when it ends in order. It
// tells a run that comes back from one that fails at the same update again and again, and, held
// open and locked by rank 0, it keeps a second process out of the folder. Called by `annulus
// train`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/run_state.h"

namespace annulus {

class StartLog {
 public:
  // Throws UserError: refused where another process trains in this folder, storage where the file
  // cannot be made.
  explicit StartLog(const std::filesystem::path& file);
  ~StartLog();
  StartLog(const StartLog&) = delete;
  StartLog& operator=(const StartLog&) = delete;

  // Throws UserError (stuck) where `most` starts in a row from this update, 0: any number, came to
  // no end and no later checkpoint.
  void expect_progress(std::size_t updates, std::size_t most) const;

  void started(const RunState& state, const std::vector<std::string>& command);
  void ended(const char* how, std::size_t updates);  // "done", "stopped"
  void failed(const std::string& reason) noexcept;   // an end, but no orderly one

 private:
  std::size_t starts_in_a_row(std::size_t updates) const;
  void append(const std::string& line) const;

  std::filesystem::path file_;
  int descriptor_;
};

}  // namespace annulus
