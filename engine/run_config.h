// config.json: what a run was told, what it resolved to, on which data, with which build and
// machine. Called by `annulus train`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "comm/control.h"
#include "data/dataset.h"
#include "engine/train_plan.h"
#include "engine/world.h"

namespace annulus {

nlohmann::ordered_json run_config(const TrainOptions& options, const TrainPlan& plan,
                                  const World& world, const Datasets& data, int threads,
                                  const std::vector<std::string>& command_line);

// What the ranks of a run must have been told alike, for the rendezvous.
std::vector<Fact> train_facts(const TrainOptions& options);

}  // namespace annulus
