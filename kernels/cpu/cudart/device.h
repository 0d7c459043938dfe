// What the rest of the CPU device (cuDNN, cuBLAS, NCCL entry points) needs of the runtime: queueing
// work that declares what it touches, asking about memory, reporting misuse, and the pool.
// Internal: programs never include it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>

#include "kernels/simt_host.h"

namespace annulus::cpu {

// What a call touches; null and empty ones are ignored.
using simt::Access;

// Queues `work` on the stream (or records it, if the stream is being captured) after checking
// `accesses`: device memory, in bounds, alive, and ordered behind every earlier conflicting call.
// `what` names the call in reports and must outlive the process (a literal). An exception from
// `work` becomes a sticky cudaErrorLaunchFailure.
cudaError_t enqueue(cudaStream_t stream, const char* what, std::span<const Access> accesses,
                    std::function<void()> work);
inline cudaError_t enqueue(cudaStream_t stream, const char* what,
                           std::initializer_list<Access> accesses, std::function<void()> work) {
  return enqueue(stream, what, std::span<const Access>(accesses.begin(), accesses.size()),
                 std::move(work));
}

// True if [data, data + bytes) lies inside one living device allocation.
bool is_device_memory(const void* data, std::size_t bytes);

// One line on stderr, "annulus cpu device: KIND: MESSAGE"; counted, and kept for the tests
// (reports.h). With ANNULUS_CPU_CHECK=abort the first report fails the device.
void report(const char* kind, const std::string& message);

// Whether the checker is on (ANNULUS_CPU_CHECK).
bool checking();

// Runs pieces on the thread pool; see kernels/simt_host.h.
using simt::parallel;

// Threads that `parallel` may use, the caller included (ANNULUS_CPU_THREADS).
unsigned int thread_count();

}  // namespace annulus::cpu
