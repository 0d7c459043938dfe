// Where a run is: what a checkpoint says beside its tensors. With the seed, whose random numbers
// are keyed by update and position, it is enough to go on as if the run had never stopped. Written
// by the trainer, read when a run resumes; rank 0 sends it to the others as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/loss_scale.h"

namespace annulus {

struct RunState {
  std::size_t updates = 0;  // done
  std::uint32_t epoch = 0;  // the running one, from 0
  std::size_t samples = 0;  // of it, seen by all ranks
  std::size_t global_batch = 0;

  // The running epoch's sums so far, for its line of metrics.
  std::size_t trained = 0;  // samples; not those that a resume of another run left out
  double loss = 0, hits = 0, seconds = 0;

  // Of a run that scales its loss (fp16): the factor, the good steps since it changed, and the
  // steps skipped so far, of which these many before the running epoch.
  double loss_scale = kInitialLossScale.factor;
  std::uint32_t good_steps = 0, skipped = 0, skipped_before = 0;

  // Since when the schedule runs at this global batch (engine/schedule.h), and the global batch
  // that the rate on the command line was meant for.
  std::size_t schedule_begin = 0;
  double schedule_progress = 0;
  std::size_t rate_batch = 0;

  // What must be the same when it resumes.
  std::string model, optimizer, data_checksum;
  std::uint64_t seed = 0;

  LossScale scale() const { return {static_cast<float>(loss_scale), good_steps, skipped}; }
  void set_scale(const LossScale& scale) {
    loss_scale = scale.factor;
    good_steps = scale.good_steps;
    skipped = scale.skipped;
  }

  bool operator==(const RunState&) const = default;
};

// One JSON object; numbers survive bit for bit.
std::string text_of(const RunState& state);

// Throws UserError (data) where the text is not one; `where` is the file, for its words.
RunState run_state_of(const std::string& text, const std::string& where);

}  // namespace annulus
