// What each subcommand does once its options are parsed. Called by main.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/options.h"

namespace annulus {

void run_train(TrainCommand& command, const std::vector<std::string>& command_line);
void run_eval(const EvalCommand& command);

}  // namespace annulus
