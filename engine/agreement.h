// What the ranks of a run do together without a word between steps: stop, and write a checkpoint at
// a time. A rank's wish rides along with a step's first bucket (engine/step.h), so all learn of it
// with that step's result; but not at the same moment, as results arrive up to kInFlight steps
// later. So what was asked in a step happens after the last step that any rank may have queued by
// then: on every rank after the same update. Called by the trainer.
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

  Requests requests() const;             // this rank's, for the next step
  void heard(const StepResult& result);  // every step's, in order

  // Whether, after so many updates, the run stops, by which signal; and whether it writes a
  // checkpoint, which then is taken as written.
  std::optional<int> stops_after(std::size_t updates) const;
  bool checkpoint_after(std::size_t updates);

 private:
  using Clock = std::chrono::steady_clock;

  DeferredStop deferred_;
  bool alone_, first_;
  std::chrono::duration<double> checkpoint_every_;
  Clock::time_point last_checkpoint_ = Clock::now();
  std::optional<std::size_t> stop_after_, checkpoint_after_;
  int signal_ = 0;
};

}  // namespace annulus
