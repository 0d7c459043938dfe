// What each subcommand does once its options are parsed. Called by main. run_train returns the exit
// code of the ranks that it started.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/cli/options.h"

namespace annulus {

int run_train(TrainCommand& command, const std::vector<std::string>& command_line);
void run_eval(const EvalCommand& command);

// The data of the option --data; `speak`: says on stderr what was found.
Datasets load_data(const std::string& spec, bool speak = true);

}  // namespace annulus
