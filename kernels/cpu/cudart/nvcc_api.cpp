// What the host code that nvcc generates calls before main: it registers the stubs of its kernels,
// by name (declared in CUDA's crt/host_runtime.h). Kernels are launched through cudaLaunchKernel
// with a stub's address; the <<<…>>> syntax, which would need more of these, is not used.
#include <cuda_runtime.h>

#include "kernels/cpu/cudart/kernel_table.h"

extern "C" {

void** __cudaRegisterFatBinary(void* binary);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
char __cudaInitModule(void** handle);
void __cudaRegisterFunction(void** handle, const char* stub, char* device_function,
                            const char* device_name, int thread_limit, uint3* thread_id,
                            uint3* block_id, dim3* block, dim3* grid, int* warp_size);
}

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;  // the binary is GPU code: nothing to do with it here
  return &handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void**) {}

char __cudaInitModule(void**) { return 0; }

void __cudaRegisterFunction(void**, const char* stub, char*, const char* device_name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  annulus::cpu::register_stub(stub, device_name);
}
