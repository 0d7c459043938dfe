// The C++ face of the CUDA runtime on the CPU device: the C functions plus the typed allocation
// overloads.
#pragma once

#include "cuda_runtime_api.h"

template <class T>
cudaError_t cudaMalloc(T** devPtr, size_t size) {
  return cudaMalloc(reinterpret_cast<void**>(devPtr), size);
}

template <class T>
cudaError_t cudaMallocHost(T** ptr, size_t size, unsigned int flags = cudaHostAllocDefault) {
  return cudaHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}
