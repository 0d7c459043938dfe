// The options and the run of `annulus bench allreduce`. Called by main.
#pragma once

#include <string>
#include <vector>

#include "engine/allreduce_bench.h"
#include "engine/cli/options.h"

namespace annulus {

struct BenchAllReduceCommand {
  RankOptions ranks;
  AllReduceBenchOptions options;
  std::size_t min_bytes = 1 << 10, max_bytes = 64 << 20;
  int factor = 4;  // from one size to the next
  std::string type = "fp32", op = "sum";
  bool json = false;

  std::size_t element_bytes() const { return size_of(options.type); }
  void resolve();  // throws UserError (usage) for options that do not fit together
};

void add_bench_allreduce_options(CLI::App& app, BenchAllReduceCommand& command);

// Returns the exit code of the ranks; an error where a value was wrong.
int run_bench_allreduce(BenchAllReduceCommand& command,
                        const std::vector<std::string>& command_line);

}  // namespace annulus
