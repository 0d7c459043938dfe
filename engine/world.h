// The ranks of a run as the engine sees them: who this one is, and the channel to the others.
// Invariant: alone means no channel; then nothing of comm is used. Made by engine/cli, passed to
// engine/trainer.
#pragma once

#include <memory>

#include "comm/control.h"

namespace annulus {

class LiveRun;

struct World {
  Identity identity;
  ControlOptions deadlines;  // how the channel was joined; its waits hold for NCCL too
  std::unique_ptr<ControlChannel> control;  // null: this rank is alone
  LiveRun* live = nullptr;                  // is told how the run stands; null: nobody looks

  int rank() const { return identity.rank; }
  int ranks() const { return identity.world; }
  bool first() const { return identity.rank == 0; }  // the one that speaks and writes

  // In a handler: tells the others that this rank ends, and why; only the first call counts.
  void leave_for_this_exception() const;
};

}  // namespace annulus
