// What the ranks of a run do together without a word between steps: stop, and write a checkpoint at
// a time. A rank's wish rides along with a step's first bucket (engine/step.h) and comes back with
// that step's result. Invariant: a TrainStep hands results over at the same points of its program
// on every rank, so all hear of a wish after the same update. Called by the trainer.
#pragma once

#include <chrono>
#include <optional>

#include "engine/step.h"
#include "engine/stop_signals.h"

namespace annulus {

class Agreement {
 public:
  // `alone`: nobody needs to be asked, and a signal counts at once. Rank 0 asks for checkpoints
  // every so often; 0: never.
  Agreement(bool alone, bool first, std::chrono::duration<double> checkpoint_every)
      : alone_(alone), first_(first), checkpoint_every_(checkpoint_every) {}

  Requests requests() const;  // this rank's, for the next step
  void heard(const Requests& asked);

  std::optional<int> stop() const;  // the signal by which all stop now
  bool take_checkpoint();           // whether all write one now, which then counts as written

 private:
  using Clock = std::chrono::steady_clock;

  DeferredStop deferred_;
  bool alone_, first_;
  std::chrono::duration<double> checkpoint_every_;
  Clock::time_point last_checkpoint_ = Clock::now();
  std::optional<int> stop_;
  bool checkpoint_ = false;
};

}  // namespace annulus
