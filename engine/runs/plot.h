// `annulus plot`: what runs recorded, as curves of one picture. Called by engine/cli.
#pragma once

#include <string>
#include <vector>

#include "engine/runs/run_record.h"

namespace annulus::runs {

struct PlotOptions {
  std::vector<std::string> metrics;  // empty: accuracy, loss, images_per_sec and a recorded overlap
  std::string x = "epoch";           // epoch, updates, time
};

// An SVG document. "accuracy" and "loss" show training and validation in one panel; any other
// number of metrics.jsonl has its own. Throws UserError: usage where no run recorded a metric, data
// where no run has an epoch.
std::string plot(const std::vector<RunRecord>& runs, const PlotOptions& options);

}  // namespace annulus::runs
