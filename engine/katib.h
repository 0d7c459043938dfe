// The metrics of a run as the JSON file collector of Katib (Kubeflow's hyperparameter search) reads
// them: a line an epoch, one flat JSON object of strings, with the time as "timestamp". Katib skips
// values that are numbers, and one line that is not JSON spoils the file, so a number that is not
// finite is left out. Called by engine/report.
// Source: github.com/kubeflow/katib, pkg/metricscollector/v1beta1/file-metricscollector.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace annulus {

// Of a line of metrics.jsonl (epoch_json in metrics.h), no newline: {"timestamp":
// "2026-01-02T03:04:05.678Z","epoch":"3","loss":"0.812",…}. All numbers are plain decimals that
// read back as the same double; those of "communication" stand beside the others.
std::string katib_line(const nlohmann::ordered_json& epoch);

}  // namespace annulus
