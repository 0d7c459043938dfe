// The graphs of a training step: a step is queued as it is the first time, so that libraries load
// and connect what they need, captured into a graph the second time and launched from then on: one
// call instead of hundreds. Invariant: the device does the same work in the same order either way,
// so the bits are the same. Called by engine/step alone.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>

#include "comm/communicator.h"
#include "engine/step_stamps.h"
#include "kernels/cuda.h"

namespace annulus {

// Which halves of the step are done; all but measurements do all.
struct StepParts {
  bool compute = true, communicate = true, update = true;

  auto operator<=>(const StepParts&) const = default;
};

// What makes two steps the same work: how the global batch is cut follows from its samples.
struct StepShape {
  std::size_t samples = 0;  // in the global batch
  StepParts parts;

  auto operator<=>(const StepShape&) const = default;
};

class StepGraphs {
 public:
  // `communicator`: whose collectives are in the steps; null: none are. Not `enabled`: every step
  // is queued.
  StepGraphs(bool enabled, const Stream& compute, Communicator* communicator)
      : enabled_(enabled), compute_(compute), communicator_(communicator) {}

  // Does the step that `queue` queues on the compute stream and those that wait for it. All that
  // differs between steps of a shape must be read from memory: the slot's pinned memory and
  // events, for each of which there is a graph. Every rank comes to the same answer.
  void run(const StepShape& shape, std::size_t slot, std::size_t update, StepStamps& stamps,
           const std::function<void()>& queue);

  // No launch follows. Steps that still run go on.
  void clear() { graphs_.clear(); }

 private:
  struct Key {
    StepShape shape;
    std::size_t slot;

    auto operator<=>(const Key&) const = default;
  };
  struct Graph {
    GraphExec exec;
    Communicator::Captured collectives;
    std::size_t stamped_calls = 0;
  };
  Graph capture(StepStamps& stamps, const std::function<void()>& queue);

  const bool enabled_;
  const Stream& compute_;
  Communicator* const communicator_;
  std::set<StepShape> seen_;
  std::map<Key, Graph> graphs_;
};

}  // namespace annulus
