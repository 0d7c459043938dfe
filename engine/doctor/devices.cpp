// What computes: the devices CUDA shows, the driver behind them, and, where there are none, why.
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "engine/doctor/bytes.h"
#include "engine/doctor/checks.h"

namespace annulus::doctor {
namespace {

constexpr std::string_view kCpuDevice = "Annulus CPU device";

// An older driver of the same major version works, without what is newer than it (CUDA
// compatibility guide, "Minor version compatibility").
Finding driver(const DeviceFacts& facts) {
  Finding finding{.name = "driver", .fact = driver_and_runtime(facts.visible)};
  if (facts.visible.driver_version < facts.visible.runtime_version) {
    finding.state = State::warning;
    finding.fact += ", which works by minor-version compatibility only";
    finding.fix = "install a newer driver on the host";
  }
  return finding;
}

// A machine without a device is a fact; a driver that cannot be used is a fault.
Finding no_device(const NoDevice& none) {
  const bool old_driver = none.reason == NoDevice::Reason::old_driver;
  return {.state = old_driver ? State::error : State::warning,
          .name = old_driver ? "driver" : "devices",
          .fact = none.fact,
          .fix = none.fix};
}

Finding broken_devices(cudaError_t status) {
  const bool wrong_setting = status == cudaErrorInvalidValue;  // see docs/cpu-device.md, knobs
  return {.state = State::error,
          .name = "devices",
          .fact = fmt::format("they cannot be read: {} ({})", cudaGetErrorString(status),
                              cudaGetErrorName(status)),
          .fix = wrong_setting ? "correct the variable named on stderr"
                               : "see the kernel's log (dmesg, lines with NVRM)",
          .code = wrong_setting ? ExitCode::usage : ExitCode::device};
}

Finding cpu_devices(const DeviceFacts& facts, unsigned int cores, const Environment& environment) {
  const char* threads = environment("ANNULUS_CPU_THREADS");
  const std::size_t count = facts.devices.size();
  return {.name = "CPU device",
          .fact = fmt::format("{} in place of {}, {}, threads: up to {}", count,
                              count == 1 ? "a GPU" : "GPUs",
                              in_words(facts.devices.front().totalGlobalMem),
                              threads ? threads : std::to_string(cores))};
}

Finding unused_gpus() {
  return {.state = State::warning,
          .name = "GPUs",
          .fact = "an NVIDIA driver is loaded, but this build has only the CPU device",
          .fix = "build the cuda preset to use the GPUs"};
}

Finding gpu(std::size_t index, const cudaDeviceProp& properties) {
  return {
      .name = fmt::format("GPU {}", index),
      .fact = fmt::format("{}, {}, compute capability {}.{}", properties.name,
                          in_words(properties.totalGlobalMem), properties.major, properties.minor)};
}

// Shown as it is: entries are ordinals, UUIDs or MIG names, and only CUDA counts them.
Finding visible_devices(const char* value, bool on_gpus) {
  return {
      .state = State::note,
      .name = "CUDA_VISIBLE_DEVICES",
      .fact = fmt::format("'{}'{}", value, on_gpus ? "" : ", which the CPU device does not read")};
}

}  // namespace

bool DeviceFacts::on_gpus() const { return !devices.empty() && devices.front().name != kCpuDevice; }

DeviceFacts read_devices() {
  DeviceFacts facts{.visible = read_visible_devices()};
  for (int device = 0; device < facts.visible.count; ++device) {
    cudaDeviceProp properties{};
    const cudaError_t status = cudaGetDeviceProperties(&properties, device);
    if (status == cudaSuccess)
      facts.devices.push_back(properties);
    else
      facts.visible.status = status;
  }
  std::error_code unreadable;
  facts.nvidia_driver = std::filesystem::exists("/proc/driver/nvidia/version", unreadable);
  return facts;
}

std::vector<Finding> check_devices(const DeviceFacts& facts, unsigned int cores,
                                   const Environment& environment) {
  std::vector<Finding> findings;
  if (const auto none = why_none(facts.visible, environment))
    findings.push_back(no_device(*none));
  else if (facts.visible.status != cudaSuccess)
    findings.push_back(broken_devices(facts.visible.status));
  else if (!facts.on_gpus())
    findings.push_back(cpu_devices(facts, cores, environment));

  if (facts.on_gpus()) {
    for (std::size_t i = 0; i < facts.devices.size(); ++i)
      findings.push_back(gpu(i, facts.devices[i]));
    findings.push_back(driver(facts));
  } else if (facts.nvidia_driver && !facts.devices.empty()) {
    findings.push_back(unused_gpus());
  }
  if (const char* visible = environment("CUDA_VISIBLE_DEVICES"))
    findings.push_back(visible_devices(visible, facts.on_gpus()));
  return findings;
}

}  // namespace annulus::doctor
