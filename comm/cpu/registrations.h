// Memory that NCCL gave out and memory that communicators were told of. On the CPU device
// registration makes nothing faster: it is kept so that misuse has a name, as NCCL itself would
// crash or read what is no longer there. Called by memory_api.cpp and nccl_api.cpp, from any
// thread.
#pragma once

#include <cstddef>

#include "comm/cpu/communicator.h"

namespace annulus::cpu::nccl {

// Both throw NcclError (unhandled cuda error) where the runtime refuses. `free` also reports, as
// "registered memory", memory that is none of ncclMemAlloc's or that a communicator still has.
void* allocate(std::size_t bytes);
void free_allocated(void* data);

// The handle is the registration's own. Throws NcclError (invalid argument) for what is no device
// memory; an unknown or used-up handle, and memory that was freed meanwhile, are reported.
void* register_memory(const Communicator& communicator, void* data, std::size_t bytes);
void deregister_memory(const Communicator& communicator, void* handle);

void forget_registrations(const Communicator& communicator);  // it ends

}  // namespace annulus::cpu::nccl
