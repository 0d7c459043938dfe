// One kernel source for nvcc and g++: launch(), grid_stride(), dynamic_shared<T>(), and the macros
// that tell the CPU device what a kernel is. Every .cu file includes this; nothing else does.
// docs/custom-kernels.md shows how a kernel is added.
//
//   __global__ void relu(Span<const float> x, Span<float> y) {
//     for (std::size_t i : grid_stride(y.size)) y[i] = x[i] > 0 ? x[i] : 0.f;
//   }
//   SIMT_ELEMENTWISE(relu)  // at the end of the file, inside the kernel's namespace
//   …
//   launch(relu, grid_for(y.size), kBlock, 0, stream, x, y);
//
// SIMT_ELEMENTWISE(kernel)
//   Every effect is inside one grid_stride loop whose iterations are independent. The CPU device
//   cuts the loop by its size and the spans' bytes alone, and runs the pieces vectorised and in
//   parallel.
// SIMT_KERNEL(kernel)
//   Anything else. The CPU device emulates blocks, barriers, shared memory, shuffles and atomics.
// SIMT_CPU_FORM(kernel, function)
//   A host function with the kernel's parameters that runs instead of the emulation, which stays
//   its oracle (ANNULUS_CPU_FORMS=0). For nvcc it is left out: #if !defined(__CUDACC__).
//
// Kernel parameters are scalars, Span<T>, Span<const T> and small trivially copyable structs; raw
// pointers are refused, because the CPU device learns from the spans what a kernel may touch.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "kernels/check.h"
#include "kernels/span.h"

namespace annulus {

inline constexpr unsigned int kBlock =
    256;  // threads of a block, where the kernel has no wish of its own
inline constexpr std::size_t kMaxBlocks =
    1056;  // eight blocks on each of 132 multiprocessors; loops cover the rest

// Blocks of kBlock threads for a grid_stride loop over n elements.
inline dim3 grid_for(std::size_t n) {
  return dim3(static_cast<unsigned int>(std::min((n + kBlock - 1) / kBlock, kMaxBlocks)));
}

namespace simt {

inline constexpr std::size_t kSharedWithoutAsking = 48
                                                    << 10;  // dynamic shared memory of any kernel

template <class T>
inline constexpr bool is_kernel_parameter =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_reference_v<T>;

[[noreturn]] inline void throw_launch_error(cudaError_t status, const void* kernel) {
  const char* name = "unregistered kernel";
  cudaFuncGetName(&name, kernel);
  cudaGetLastError();  // clear it: it is being reported
  throw DeviceError("launch of " + std::string(name) + " failed: " + cudaGetErrorName(status) +
                    " (" + cudaGetErrorString(status) + ")");
}

}  // namespace simt

// Queues kernel(arguments…) on the stream; throws DeviceError with the kernel's name.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            cudaStream_t stream, const Arguments&... arguments) {
  static_assert((simt::is_kernel_parameter<Parameters> && ...),
                "kernel parameters are scalars, spans and small trivially copyable structs");
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "wrong number of kernel arguments");
  const void* address = reinterpret_cast<const void*>(kernel);
  if (shared_bytes > simt::kSharedWithoutAsking) {
    cudaFuncSetAttribute(address, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(shared_bytes));
  }
  const auto queue = [&](Parameters... parameters) {
    void* pointers[] = {static_cast<void*>(&parameters)..., nullptr};
    return cudaLaunchKernel(address, grid, block, pointers, shared_bytes, stream);
  };
  if (const cudaError_t status = queue(static_cast<Parameters>(arguments)...);
      status != cudaSuccess) {
    simt::throw_launch_error(status, address);
  }
}

}  // namespace annulus

#if defined(__CUDACC__)
#include "kernels/simt_cuda.h"
#else
#include "kernels/simt_cpu.h"
#endif
