// How often a run writes a checkpoint: `--checkpoint-every 500`, `500steps`, `10min`, `1epoch` or
// `never`. Called by the trainer.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace annulus {

struct CheckpointInterval {
  std::size_t steps = 0, epochs = 0;  // 0: not by these
  std::chrono::duration<double> time{0};
};

// Throws UserError (usage) that shows the forms.
CheckpointInterval parse_checkpoint_interval(const std::string& text);

}  // namespace annulus
