// What computes: the devices CUDA shows, the driver behind them, and, where there are none, why.
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "engine/doctor/bytes.h"
#include "engine/doctor/checks.h"
#include "kernels/environment.h"

namespace annulus::doctor {
namespace {

constexpr std::string_view kCpuDevice = "Annulus CPU device";

// 12040 -> "12.4".
std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

std::string both_versions(const DeviceFacts& facts) {
  return fmt::format("the driver serves CUDA {} ({}), the runtime is CUDA {} ({})",
                     version(facts.driver_version), facts.driver_version,
                     version(facts.runtime_version), facts.runtime_version);
}

Finding refused_driver(const DeviceFacts& facts) {
  return {.state = State::error,
          .name = "driver",
          .fact = "the NVIDIA driver is too old: " + both_versions(facts),
          .fix = "install a newer driver on the host, or use an image with an older CUDA"};
}

// An older driver of the same major version works, without what is newer than it (CUDA
// compatibility guide, "Minor version compatibility").
Finding driver(const DeviceFacts& facts) {
  Finding finding{.name = "driver", .fact = both_versions(facts)};
  if (facts.driver_version < facts.runtime_version) {
    finding.state = State::warning;
    finding.fact += ", which works by minor-version compatibility only";
    finding.fix = "install a newer driver on the host";
  }
  return finding;
}

const DeclaredEnvironment kDeclared("GPUs",
                                    {{"CUDA_VISIBLE_DEVICES", "all", "numbers, UUIDs or nothing",
                                      "which GPUs the process sees"}});

Finding no_device(const DeviceFacts& facts, const Environment& environment) {
  Finding finding{.state = State::warning, .name = "devices", .fact = "no device"};
  if (const char* visible = environment("CUDA_VISIBLE_DEVICES"); visible && facts.nvidia_driver)
    finding.fix = fmt::format("CUDA_VISIBLE_DEVICES='{}' leaves none visible: unset it", visible);
  else if (facts.nvidia_driver)
    finding.fix =
        "the host has an NVIDIA driver: give the container a GPU (limits: nvidia.com/gpu, or "
        "docker run --gpus)";
  else if (environment("ANNULUS_CPU_DEVICES"))
    finding.fix = "unset ANNULUS_CPU_DEVICES to compute on the CPU";
  else
    finding.fix = "there is no NVIDIA driver on this host; the cpu build runs without one";
  return finding;
}

// Without any driver CUDA calls it insufficient.
bool says_no_device(cudaError_t status) {
  return status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver;
}

Finding broken_devices(cudaError_t status) {
  const bool wrong_setting = status == cudaErrorInvalidValue;  // see docs/cpu-device.md, knobs
  return {.state = State::error,
          .name = "devices",
          .fact = fmt::format("cudaGetDeviceCount failed: {} ({})", cudaGetErrorString(status),
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
  DeviceFacts facts;
  int count = 0;
  facts.status = cudaGetDeviceCount(&count);
  cudaDriverGetVersion(&facts.driver_version);
  cudaRuntimeGetVersion(&facts.runtime_version);
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) == cudaSuccess)
      facts.devices.push_back(properties);
  }
  std::error_code unreadable;
  facts.nvidia_driver = std::filesystem::exists("/proc/driver/nvidia/version", unreadable);
  return facts;
}

std::vector<Finding> check_devices(const DeviceFacts& facts, unsigned int cores,
                                   const Environment& environment) {
  std::vector<Finding> findings;
  if (facts.status == cudaErrorInsufficientDriver && facts.driver_version > 0)
    findings.push_back(refused_driver(facts));
  else if (facts.status != cudaSuccess && !says_no_device(facts.status))
    findings.push_back(broken_devices(facts.status));
  else if (facts.devices.empty())
    findings.push_back(no_device(facts, environment));
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
