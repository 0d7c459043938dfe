// What the variables of a Slurm step say (srun(1), "Output environment variables"). Called by
// comm/identity_ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace annulus {

// False outside a step, and in Slurm's pseudo steps (batch script, interactive shell, external
// processes), which have no tasks: words, or numbers from 0xfffffff0 up.
bool is_slurm_task_step(std::string_view step_id);

// "gpu[01-04,07],login1" -> "gpu01"; nothing where it is no such list.
std::optional<std::string> slurm_first_host(std::string_view node_list);

// "4(x2),3": four tasks on nodes 0 and 1, three on node 2; nothing where it does not say.
std::optional<int> slurm_tasks_of_node(std::string_view tasks_per_node, int node);

// Slurm gives a step no port: one below those that systems hand out (20000 to 29999), the same for
// all of a run, different for most other runs on the machine. A run that meets another there is
// refused by its job's name.
int slurm_port(std::string_view run);

}  // namespace annulus
