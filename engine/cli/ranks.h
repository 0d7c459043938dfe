// From one process to the ranks of a run: who am I; if nobody started me as a rank and more than
// one is asked for, start them; else join the others and do the work. Invariant: whatever ends this
// rank is told to the others before it ends. Called by the subcommands that run on several ranks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/cli/options.h"
#include "engine/visible_devices.h"
#include "engine/world.h"

namespace annulus {

// Returns the exit code: of the ranks it started, or what `work` returns, which the other ranks
// take as the regular end. `facts` are compared between ranks before `work` begins. Throws what
// `work` throws.
int run_as_ranks(const RankOptions& options, const std::vector<std::string>& command_line,
                 std::vector<Fact> facts, const std::function<int(World&)>& work);

// As device_count(), asked in a child: this process can still choose the CPU device's settings.
int device_count_of_a_child();

}  // namespace annulus
