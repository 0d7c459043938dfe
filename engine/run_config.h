// config.json: what a run was told, what it resolved to, on which data, with which build and
// machine. Called by `annulus train`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/trainer.h"

namespace annulus {

nlohmann::ordered_json run_config(const TrainOptions& options, const Datasets& data, int threads,
                                  const std::vector<std::string>& command_line);

}  // namespace annulus
