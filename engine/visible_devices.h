// What CUDA shows this process, and in what words it shows nothing. Invariant: nobody else words
// why there is no device. CUDA alone counts: entries of CUDA_VISIBLE_DEVICES (numbers, UUIDs, MIG
// names) are shown as they are, never read. Called by --device, by each rank and by the doctor.
#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <string>

#include "comm/identity.h"

namespace annulus {

struct VisibleDevices {
  cudaError_t status = cudaSuccess;  // of cudaGetDeviceCount
  int count = 0;
  int driver_version = 0, runtime_version = 0;  // CUDA's numbers: 12040 is 12.4; driver 0: none
  bool on_cpu_device = false;
};

VisibleDevices read_visible_devices();

// Whether the CPU device answers CUDA's calls. Makes none itself.
bool cpu_device_is_loaded();

struct NoDevice {
  enum class Reason { no_driver, old_driver, hidden, none };
  Reason reason;
  std::string fact, fix;

  std::string line() const { return fact + "; " + fix; }
};

// Nothing where there is a device, and where counting them failed for another reason (`status`).
std::optional<NoDevice> why_none(const VisibleDevices& devices, const Environment& environment);

// The devices that this process sees. Throws UserError: device, where there are none; usage, where
// a setting of the CPU device, which reads them at the first CUDA call, is not valid.
int device_count();

// "the driver serves CUDA 12.2 (12020), the program is of CUDA 12.4 (12040)"
std::string driver_and_runtime(const VisibleDevices& devices);

}  // namespace annulus
