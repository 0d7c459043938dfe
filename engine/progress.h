// Progress on stderr: a bar that redraws itself on a terminal, a plain line every half minute
// elsewhere (no carriage returns: log collectors lose lines that hold them). Called by the trainer
// for each step's result.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace annulus {

class Progress {
 public:
  // `done`: updates before this start of the run.
  Progress(std::size_t epochs, std::size_t total_updates, std::size_t done);

  void epoch_begins(std::size_t epoch, std::size_t steps);  // epoch from 1
  void step_done(std::size_t samples, double loss);
  void clear();  // takes the bar off the terminal, so that a line can be printed

 private:
  using Clock = std::chrono::steady_clock;
  static std::size_t columns();
  void draw() const;
  std::string text() const;

  bool terminal_;
  std::size_t epochs_, total_updates_, done_;
  std::size_t epoch_ = 0, steps_ = 0, step_ = 0, updates_, samples_ = 0;
  double loss_ = 0;           // running mean, so that the bar does not flicker
  double train_seconds_ = 0;  // of finished epochs, evaluation left out
  Clock::time_point epoch_start_, last_drawn_;
};

}  // namespace annulus
