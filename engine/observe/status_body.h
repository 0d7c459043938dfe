// What the status of a Kubeflow TrainJob says of a run, as the body of one POST. Invariant: the
// body passes the schema of the TrainJob's trainerStatus whatever the numbers are, and says all of
// it, as each POST replaces what was there. Called by engine/observe/status_reporter.
// Source: github.com/kubeflow/trainer, v2.2.0 and v2.3.0, pkg/statusserver and the TrainJob's CRD.
#pragma once

#include <chrono>
#include <string>

#include "engine/live_run.h"

namespace annulus {

// {"trainerStatus":{"progressPercentage":45,"estimatedRemainingSeconds":120,
// "metrics":[{"name":"epoch","value":"3"},{"name":"loss","value":"0.812"},…],
// "lastUpdatedTime":"2026-01-02T03:04:05Z"}}: whole numbers, metrics as strings of at most 64
// characters under the names of the epoch line (engine/metrics.h). What is not known or not finite
// is left out; 100 % is a run that has finished.
std::string status_body(const RunSnapshot& run, std::chrono::system_clock::time_point now);

int progress_percentage(const RunSnapshot& run);

}  // namespace annulus
