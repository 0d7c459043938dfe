// The options and the runs of `annulus runs` and `annulus plot`. Called by main.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/cli11.h"
#include "engine/runs/plot.h"

namespace annulus {

struct RunsCommand {
  std::vector<std::string> folders;  // empty: runs
  bool json = false;
};

struct PlotCommand {
  std::vector<std::string> folders;
  runs::PlotOptions options;
  std::string svg = "plot.svg";
};

void add_runs_options(CLI::App& app, RunsCommand& command);
void run_runs(const RunsCommand& command);

void add_plot_options(CLI::App& app, PlotCommand& command);
void run_plot(const PlotCommand& command);

}  // namespace annulus
