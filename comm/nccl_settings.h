// What this program tells NCCL by its environment, where the user has not: how sums are made and
// where the log goes. Invariant: a variable that is set stays as it is, and every one that is not
// left to NCCL is said in a line. NCCL user guide, "Environment Variables". Called by engine/cli on
// every rank, before its first call of NCCL, which reads them once.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace annulus {

// Rings, and what that gives up; with `deterministic` also one protocol, a number of channels and
// no sums inside switches, so that NCCL cannot choose anew from run to run.
std::vector<std::string> choose_nccl_sums(bool deterministic);

// NCCL's log, at the level that tells transports, as nccl-<host>-<process>.log in the folder.
void send_nccl_log_to(const std::filesystem::path& folder);

}  // namespace annulus
