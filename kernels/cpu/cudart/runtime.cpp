// Set-up, admission of calls, and what becomes of an operation that fails.
#include "kernels/cpu/cudart/runtime.h"

#include <fmt/format.h>

#include "kernels/cpu/cudart/current.h"
#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudart/graph.h"
#include "kernels/cpu/cudart/kernel_fault.h"
#include "kernels/cpu/cudart/queue.h"

namespace annulus::cpu {
namespace {

thread_local int current_device = 0;

// Within a major version older drivers do (CUDA compatibility guide, "Minor version
// compatibility").
bool driver_is_too_old() { return options().driver_version / 1000 < CUDART_VERSION / 1000; }

// At exit no operation may run into the destruction of the libraries that it calls.
struct StopAtExit {
  ~StopAtExit() {
    Lock lock(Runtime::instance().mutex);
    Runtime::instance().scheduler.stop(lock);
  }
};

}  // namespace

Device::Device(int index_, AllocationTable& table)
    : index(index_), memory(options().memory, checking(), table) {}

Runtime::Runtime() : checker(allocations) {
  for (int i = 0; i < options().devices; ++i) {
    devices.push_back(std::make_unique<Device>(i, allocations));
    devices.back()->legacy_stream = scheduler.create(i, cudaStreamDefault, 0);
    devices.back()->legacy_stream->legacy = true;
  }
}

Runtime& Runtime::instance() {
  static Runtime& runtime = *new Runtime;
  static const StopAtExit stop_at_exit;
  return runtime;
}

Device& Runtime::current_device() {
  return *devices[static_cast<std::size_t>(current_device_index())];
}

std::shared_ptr<Stream> Runtime::stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return current_device().legacy_stream;
  return scheduler.find(handle);
}

void Runtime::fail_devices(cudaError_t status) {
  for (const auto& device : devices) device->sticky_error = status;
}

int current_device_index() { return current_device; }
void set_current_device_index(int index) { current_device = index; }

cudaError_t admit_call() {
  if (const std::string& error = options().error; !error.empty()) {
    static const bool told = (report("environment", error), true);
    static_cast<void>(told);
    return cudaErrorInvalidValue;
  }
  if (driver_is_too_old()) return cudaErrorInsufficientDriver;
  if (CurrentCall::name() != nullptr) return cudaErrorNotPermitted;
  Runtime& runtime = Runtime::instance();
  if (runtime.scheduler.stopped()) return cudaErrorCudartUnloading;
  if (runtime.devices.empty()) return cudaErrorNoDevice;
  return runtime.current_device().sticky_error;
}

void run_operation(int device, const Operation& operation) noexcept {
  std::atomic<cudaError_t>& sticky =
      Runtime::instance().devices[static_cast<std::size_t>(device)]->sticky_error;
  if (!operation.work || sticky != cudaSuccess) return;
  const CurrentCall current(operation.call);
  try {
    operation.work();
  } catch (const KernelFault& fault) {
    report(fault.kind(), fmt::format("{} {}", operation.call, fault.what()));
    sticky = cudaErrorLaunchFailure;
  } catch (const std::exception& error) {
    report("kernel failure", fmt::format("{} threw: {}", operation.call, error.what()));
    sticky = cudaErrorLaunchFailure;
  } catch (...) {
    report("kernel failure", fmt::format("{} threw an unknown exception", operation.call));
    sticky = cudaErrorLaunchFailure;
  }
  for (const auto& allocation : operation.written) {
    if (allocation->red_zone_is_intact()) continue;
    report("out of bounds", fmt::format("{} or a call beside it wrote behind the end of {}",
                                        operation.call, allocation->describe()));
    allocation->restore_red_zone();
  }
}

}  // namespace annulus::cpu
