// Entry points about devices: their number, properties and limits.
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "kernels/cpu/cudart/graph.h"
#include "kernels/cpu/cudart/limits.h"
#include "kernels/cpu/cudart/options.h"
#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"

using namespace annulus::cpu;

namespace {

constexpr int kMajor = 9, kMinor = 0;  // the GPU whose limits the device keeps
constexpr int kMultiprocessors = 132;

bool is_device(const Runtime& runtime, int device) {
  return device >= 0 && static_cast<std::size_t>(device) < runtime.devices.size();
}

std::optional<int> attribute(cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return kMaxBlockThreads;
    case cudaDevAttrMaxBlockDimX:
      return kMaxBlock.x;
    case cudaDevAttrMaxBlockDimY:
      return kMaxBlock.y;
    case cudaDevAttrMaxBlockDimZ:
      return kMaxBlock.z;
    case cudaDevAttrMaxGridDimX:
      return kMaxGrid.x;
    case cudaDevAttrMaxGridDimY:
      return kMaxGrid.y;
    case cudaDevAttrMaxGridDimZ:
      return kMaxGrid.z;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return kMaxStaticShared;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return kMaxDynamicShared;
    case cudaDevAttrWarpSize:
      return kWarp;
    case cudaDevAttrMultiProcessorCount:
      return kMultiprocessors;
    case cudaDevAttrComputeCapabilityMajor:
      return kMajor;
    case cudaDevAttrComputeCapabilityMinor:
      return kMinor;
    case cudaDevAttrStreamPrioritiesSupported:
      return 1;
  }
  return std::nullopt;
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return remember(cudaErrorInvalidValue);
  *count = 0;
  return api([&](Runtime& runtime) -> cudaError_t {
    *count = static_cast<int>(runtime.devices.size());
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (!is_device(runtime, device)) return cudaErrorInvalidDevice;
    set_current_device_index(device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return api([&](Runtime&) -> cudaError_t {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = current_device_index();
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (properties == nullptr) return cudaErrorInvalidValue;
    if (!is_device(runtime, device)) return cudaErrorInvalidDevice;
    *properties = {
        .name = "Annulus CPU device",
        .totalGlobalMem = runtime.device(device).memory.limit(),
        .major = kMajor,
        .minor = kMinor,
    };
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (!is_device(runtime, device)) return cudaErrorInvalidDevice;
    const std::optional<int> found = attribute(which);
    if (value == nullptr || !found) return cudaErrorInvalidValue;
    *value = *found;
    return cudaSuccess;
  });
}

// Device 0 of every process has the same one: two ranks that both think they own it are found out.
cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (!is_device(runtime, device)) return cudaErrorInvalidDevice;
    if (bus_id == nullptr || length < 13) return cudaErrorInvalidValue;
    const auto end = fmt::format_to_n(bus_id, length - 1, "0000:{:02x}:00.0",
                                      options().first_device + device + 1);
    *end.out = '\0';
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    if (const cudaError_t refused = refuse_while_capturing(runtime); refused != cudaSuccess)
      return refused;
    wait_for_device(runtime, lock, current_device_index());
    return runtime.current_device().sticky_error;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return remember(cudaErrorInvalidValue);
  *version = options().driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return remember(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
