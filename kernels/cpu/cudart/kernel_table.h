// All kernels of the process: those that g++ compiled register themselves; those that nvcc compiled
// are given the g++ build of their name. Filled by static initialisers, of libraries before those
// of the program; afterwards no kernel comes or goes. Called by launch and by nvcc's registration.
#pragma once

#include "kernels/simt.h"

namespace annulus::cpu {

// By the address that is launched: the function, or nvcc's stub of it. Null: there is none.
simt::Kernel* find_kernel(const void* address);

// nvcc's stub of the kernel with this mangled name. A name that no g++ build has stays unknown, and
// its launch fails with cudaErrorInvalidDeviceFunction.
void register_stub(const void* stub, const char* mangled_name);

}  // namespace annulus::cpu
