// Why there is no device: each fact that CUDA may state, in one line (cases G01, G02, G04). The
// program says it in no_device_test.
#include <gtest/gtest.h>

#include <map>

#include "engine/visible_devices.h"

namespace annulus {
namespace {

using Reason = NoDevice::Reason;

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

// The line, or "" where there is a device.
std::string line(const VisibleDevices& devices, Reason reason,
                 const Environment& environment = variables({})) {
  const auto none = why_none(devices, environment);
  if (!none) return "";
  EXPECT_EQ(none->reason, reason) << none->line();
  EXPECT_EQ(none->line().find('\n'), std::string::npos);
  return none->line();
}

TEST(VisibleDevices, ADriverOlderThanTheRuntime) {
  const VisibleDevices devices{
      .status = cudaErrorInsufficientDriver, .driver_version = 12020, .runtime_version = 12040};
  EXPECT_EQ(line(devices, Reason::old_driver),
            "the NVIDIA driver is too old: the driver serves CUDA 12.2 (12020), the program is of "
            "CUDA 12.4 (12040); install a newer driver on the host, or use an annulus of an older "
            "CUDA");
}

TEST(VisibleDevices, NoDriverOrItsStub) {
  for (const cudaError_t status : {cudaErrorInsufficientDriver, cudaErrorStubLibrary}) {
    const std::string said = line({.status = status, .runtime_version = 12040}, Reason::no_driver,
                                  variables({{"CUDA_VISIBLE_DEVICES", "0"}}));
    EXPECT_EQ(said.find("there is no NVIDIA driver (libcuda.so.1); install it"), 0u) << said;
  }
}

TEST(VisibleDevices, NoneIsShownToAContainerWithoutAGpu) {
  const std::string said =
      line({.status = cudaErrorNoDevice, .driver_version = 12040}, Reason::none);
  EXPECT_EQ(said.find("no GPU is visible; give the container one"), 0u) << said;
  EXPECT_EQ(said.find("driver"), std::string::npos) << said;
}

// Numbers, UUIDs and MIG names are shown as they are; that they name none is CUDA's word.
TEST(VisibleDevices, AListThatNamesNone) {
  for (const char* list : {"", "-1", "GPU-8932f937", "MIG-GPU-8932f937/1/2", "7"}) {
    const VisibleDevices devices{.status = cudaErrorNoDevice, .driver_version = 12040};
    EXPECT_EQ(line(devices, Reason::hidden, variables({{"CUDA_VISIBLE_DEVICES", list}})),
              "no GPU is visible: CUDA_VISIBLE_DEVICES='" + std::string(list) +
                  "' names none of them; unset it, or use --device cpu");
  }
}

TEST(VisibleDevices, TheCpuDeviceDoesNotReadTheList) {
  const std::string said =
      line({.status = cudaErrorNoDevice, .driver_version = 12040, .on_cpu_device = true},
           Reason::none, variables({{"CUDA_VISIBLE_DEVICES", ""}}));
  EXPECT_EQ(said.find("no device is visible: ANNULUS_CPU_DEVICES is 0; unset it"), 0u) << said;
}

TEST(VisibleDevices, ACountIsTakenFromCudaWhateverIsListed) {
  for (const char* list : {"GPU-8932f937", "MIG-GPU-8932f937/1/2", "0"})
    EXPECT_FALSE(why_none({.count = 1, .driver_version = 12040},
                          variables({{"CUDA_VISIBLE_DEVICES", list}})));
  EXPECT_FALSE(why_none({.status = cudaErrorUnknown, .driver_version = 12040}, variables({})));
}

}  // namespace
}  // namespace annulus
