// A run in one line: what it was and how far it came. Called by the list and the comparison of
// runs, which show it as text and as JSON.
#pragma once

#include <string>

#include "engine/runs/run_record.h"

namespace annulus::runs {

// Numbers are NaN and texts empty where the run's files do not tell.
struct Summary {
  std::string name, model, data;
  double ranks, virtual_ranks, batch_size;  // ranks are processes; batch_size is a virtual rank's
  double epochs_done, epochs_planned, updates_done, updates_planned;
  double best_val_accuracy, best_epoch, last_val_accuracy;
  double images_per_sec;  // over all epochs
  double overlap;         // of the last epoch
  std::string
      state;  // "finished", "failed after update 7", "running?", "stopped at update 120 of 400", …
};

// `now` tells a run that may still be running from one that was stopped.
Summary summarise(const RunRecord& run, Time now);

Json to_json(const Summary& summary);

// "4 x 64" (ranks x images of each), "2 x 8 x 64" where ranks stand for virtual ones.
std::string batch_text(const Summary& summary);

// "0.8607" with `places` 4; "-" for NaN.
std::string number_text(double number, int places);

}  // namespace annulus::runs
