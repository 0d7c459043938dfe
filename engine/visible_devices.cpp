// See visible_devices.h.
#include "engine/visible_devices.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "engine/build_info.h"
#include "kernels/check.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";

const DeclaredEnvironment kDeclared("GPUs", {{kVisible, "all", "numbers, UUIDs or nothing",
                                              "which GPUs the process sees"}});

// 12040 -> "12.4 (12040)".
std::string version(int number) {
  return fmt::format("{}.{} ({})", number / 1000, number % 1000 / 10, number);
}

// CUDA says "insufficient" of a driver that is not there; the toolkit's stub of one computes
// nothing.
bool has_no_driver(const VisibleDevices& devices) {
  return devices.status == cudaErrorStubLibrary ||
         (devices.status == cudaErrorInsufficientDriver && devices.driver_version == 0);
}

}  // namespace

bool cpu_device_is_loaded() {
  return build_info().cuda.empty() || dlsym(RTLD_DEFAULT, "annulus_cpu_services") != nullptr;
}

VisibleDevices read_visible_devices() {
  VisibleDevices devices{.on_cpu_device = cpu_device_is_loaded()};
  devices.status = cudaGetDeviceCount(&devices.count);
  cudaDriverGetVersion(&devices.driver_version);
  cudaRuntimeGetVersion(&devices.runtime_version);
  return devices;
}

std::optional<NoDevice> why_none(const VisibleDevices& devices, const Environment& environment) {
  using Reason = NoDevice::Reason;
  if (has_no_driver(devices))
    return NoDevice{Reason::no_driver, "there is no NVIDIA driver (libcuda.so.1)",
                    "install it, give the container a GPU (limits: nvidia.com/gpu, or docker run "
                    "--gpus), or use --device cpu"};
  if (devices.status == cudaErrorInsufficientDriver)
    return NoDevice{Reason::old_driver,
                    "the NVIDIA driver is too old: " + driver_and_runtime(devices),
                    "install a newer driver on the host, or use an annulus of an older CUDA"};
  if (devices.status != cudaErrorNoDevice && (devices.status != cudaSuccess || devices.count > 0))
    return std::nullopt;
  if (devices.on_cpu_device)
    return NoDevice{Reason::none, "no device is visible: ANNULUS_CPU_DEVICES is 0",
                    "unset it to compute on the CPU"};
  if (const char* visible = environment(kVisible))
    return NoDevice{Reason::hidden,
                    fmt::format("no GPU is visible: {}='{}' names none of them", kVisible, visible),
                    "unset it, or use --device cpu"};
  return NoDevice{Reason::none, "no GPU is visible",
                  "give the container one (limits: nvidia.com/gpu, or docker run --gpus), or use "
                  "--device cpu"};
}

int device_count() {
  const VisibleDevices devices = read_visible_devices();
  if (devices.status == cudaErrorInvalidValue)
    throw UserError(ExitCode::usage,
                    "a setting of the CPU device is not valid; its own line above names it");
  if (const auto none = why_none(devices, &std::getenv))
    throw UserError(ExitCode::device, none->line());
  if (devices.status != cudaSuccess)
    throw_cuda_error(devices.status, "cudaGetDeviceCount", __FILE__, __LINE__);
  return devices.count;
}

std::string driver_and_runtime(const VisibleDevices& devices) {
  return fmt::format("the driver serves CUDA {}, the program is of CUDA {}",
                     version(devices.driver_version), version(devices.runtime_version));
}

}  // namespace annulus
