// `annulus data`: what a data set is (info), and the same in another layout (convert). Called by
// main.
#pragma once

#include <string>

#include "engine/cli/cli11.h"

namespace annulus {

struct DataInfoCommand {
  std::string path;  // empty: $ANNULUS_DATA, else synthetic
  bool json = false;
};

struct DataConvertCommand {
  std::string path, out, to;
};

struct DataCommand {
  DataInfoCommand info;
  DataConvertCommand convert;
};

void add_data_options(CLI::App& app, DataCommand& command);

// Runs whichever of the two subcommands was given. Results go to stdout.
void run_data(const CLI::App& app, const DataCommand& command);

}  // namespace annulus
