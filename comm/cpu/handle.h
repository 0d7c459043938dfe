// What a ncclComm_t points to. It shares its communicator with the work that is queued, so that
// ncclCommAbort may take the handle away while another thread's call is under way.
#pragma once

#include <nccl.h>

#include <memory>

#include "comm/cpu/communicator.h"

struct ncclComm {
  std::shared_ptr<annulus::cpu::nccl::Communicator> communicator;
};
