// The state of the CPU device's runtime: devices, memory, streams and the checker behind one mutex,
// made at the first CUDA call and never destroyed. Every CUDA entry point goes through api() below.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "kernels/cpu/cudart/checker.h"
#include "kernels/cpu/cudart/memory.h"
#include "kernels/cpu/cudart/stream.h"

namespace annulus::cpu {

struct Device {
  Device(int index_, AllocationTable& table);

  const int index;
  DeviceMemory memory;
  std::shared_ptr<Stream> legacy_stream;
  std::atomic<cudaError_t> sticky_error = cudaSuccess;  // of a kernel that failed
};

struct Runtime {
  std::mutex mutex;
  AllocationTable allocations;
  Scheduler scheduler{mutex};
  Checker checker;
  std::vector<std::unique_ptr<Device>> devices;

  static Runtime& instance();
  Device& device(int index) { return *devices[static_cast<std::size_t>(index)]; }
  Device& current_device();
  // The stream behind a handle, null meaning the current device's legacy stream; null if unknown.
  std::shared_ptr<Stream> stream(cudaStream_t handle);
  void fail_devices(
      cudaError_t status);  // sets, or with cudaSuccess clears, the sticky error of all

 private:
  Runtime();
};

int current_device_index();
void set_current_device_index(int index);

// Runs an operation's work; what it throws becomes its device's sticky error.
void run_operation(int device, const Operation& operation) noexcept;

// Gives `status` to cudaGetLastError, unless it is success, and returns it.
cudaError_t remember(cudaError_t status);

// What every call does first: refuses a bad environment, calls from inside a kernel or host
// function, missing devices, and a device whose kernel failed.
cudaError_t admit_call();

// Wraps the body of a CUDA entry point: admission, the last error, and no exception out of C.
template <class Body>
cudaError_t api(Body&& body) noexcept {
  if (const cudaError_t refused = admit_call(); refused != cudaSuccess) return remember(refused);
  try {
    return remember(body(Runtime::instance()));
  } catch (const std::bad_alloc&) {
    return remember(cudaErrorMemoryAllocation);
  } catch (...) {
    return remember(cudaErrorOperatingSystem);
  }
}

}  // namespace annulus::cpu
