// NCCL's entry points of memory: what collectives read and write, allocated and registered.
#include "comm/cpu/entry.h"
#include "comm/cpu/registrations.h"

using namespace annulus::cpu::nccl;

ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  return api("ncclMemAlloc", [&] {
    if (pointer == nullptr || bytes == 0) throw_invalid("nothing to allocate, or no place for it");
    *pointer = allocate(bytes);
    return ncclSuccess;
  });
}

ncclResult_t ncclMemFree(void* pointer) {
  return api("ncclMemFree", [&] {
    if (pointer != nullptr) free_allocated(pointer);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* data, size_t bytes, void** handle) {
  return api("ncclCommRegister", [&] {
    if (handle == nullptr) throw_invalid("the place for the handle is null");
    *handle = register_memory(*communicator_of(comm), data, bytes);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return api("ncclCommDeregister", [&] {
    deregister_memory(*communicator_of(comm), handle);
    return ncclSuccess;
  });
}
