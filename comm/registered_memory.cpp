// See registered_memory.h.
#include "comm/registered_memory.h"

#include <cuda_runtime.h>

#include "kernels/check.h"

namespace annulus {
namespace {

// Asked of the library that runs, not of the header: an older one lacks the functions.
bool library_registers() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess && version >= NCCL_VERSION(2, 19, 0);
}

}  // namespace

void* RegisteredMemory::allocate(std::size_t bytes) {
  void* data = nullptr;
  if (library_registers()) {
    if (ncclMemAlloc(&data, bytes) != ncclSuccess) throw_out_of_device_memory(bytes);
    enter(data, pieces_[data] = {.bytes = bytes});
  } else {
    const cudaError_t status = cudaMalloc(&data, bytes);
    if (status == cudaErrorMemoryAllocation) throw_out_of_device_memory(bytes);
    CUDA_CHECK(status);
  }
  return data;
}

void RegisteredMemory::free(void* data) {
  if (aborted_) return;
  const auto piece = pieces_.find(data);
  if (piece == pieces_.end()) {
    cudaFree(data);
    return;
  }
  withdraw(piece->second);
  pieces_.erase(piece);
  ncclMemFree(data);
}

void RegisteredMemory::join(ncclComm_t communicator) {
  communicator_ = communicator;
  for (auto& [data, piece] : pieces_) enter(data, piece);
}

void RegisteredMemory::leave() {
  for (auto& [data, piece] : pieces_) withdraw(piece);
  communicator_ = nullptr;
}

void RegisteredMemory::enter(void* data, Piece& piece) const {
  if (communicator_ == nullptr) return;
  if (ncclCommRegister(communicator_, data, piece.bytes, &piece.registration) != ncclSuccess)
    piece.registration = nullptr;
}

void RegisteredMemory::withdraw(Piece& piece) const {
  if (communicator_ != nullptr && piece.registration != nullptr)
    ncclCommDeregister(communicator_, piece.registration);
  piece.registration = nullptr;
}

}  // namespace annulus
