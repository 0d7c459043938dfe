// Where this process's NCCL logs to: NCCL_DEBUG_FILE with %h (the host's name up to its first dot)
// and %p (the process) filled in. NCCL user guide, NCCL_DEBUG_FILE. Called by comm/nccl_log and the
// CPU device's NCCL.
#pragma once

#include <string>

namespace annulus {

std::string short_host_name();
std::string nccl_log_file();  // empty: stdout

}  // namespace annulus
