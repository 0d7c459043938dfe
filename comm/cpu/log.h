// NCCL's log as far as the CPU device has something to tell: with NCCL_DEBUG=INFO (or TRACE), lines
// of NCCL's form to the file that NCCL_DEBUG_FILE names (%h: the host, %p: the process), else to
// stdout. NCCL user guide, "Environment Variables". Called by the communicator when it is
// connected.
#pragma once

#include <string>

namespace annulus::cpu::nccl {

void log_info(int device, const std::string& text);  // "host:process:thread [device] NCCL INFO …"

}  // namespace annulus::cpu::nccl
