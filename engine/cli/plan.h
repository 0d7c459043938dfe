// `annulus plan`: what a training step would be on a GPU that need not be there. Called by main.
#pragma once

#include <string>

#include "engine/cli/cli11.h"
#include "engine/replacements.h"

namespace annulus {

struct PlanCommand {
  std::string model;
  std::string device = "h200";  // a built-in name or a JSON file
  std::string precision = "fp32";
  std::string image = "32x32x3";  // height, width, channels
  std::string replace = kNoReplacements;
  int batch_size = 64;
  bool json = false;
};

void add_plan_options(CLI::App& app, PlanCommand& command);

// Prints the table, or the JSON, on stdout.
void run_plan(const PlanCommand& command);

}  // namespace annulus
