// Reads descriptions of GPUs.
#include "engine/forecast/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "kernels/check.h"
#include "kernels/precision.h"
#include "kernels/printable.h"

namespace annulus::forecast {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& source, const std::string& fact) {
  throw UserError(ExitCode::usage, fmt::format("--device {}: {}; docs/plan.md shows the form",
                                               printable(source), fact));
}

double positive(const std::string& source, const std::string& name, const Json& value) {
  if (!value.is_number() || value.get<double>() <= 0)
    refuse(source, fmt::format("{} must be a positive number", name));
  return value.get<double>();
}

const Json& field(const std::string& source, const Json& description, const char* name) {
  const auto found = description.find(name);
  if (found == description.end()) refuse(source, fmt::format("it has no {}", name));
  return *found;
}

// The whole numbers of cudnn_properties and the smallest that each can be. cuDNN itself says only
// that one of them is wrong.
struct Property {
  const char* name;
  std::int64_t least;
};
constexpr std::array kProperties = {
    Property{"cudaDeviceId", 0},        Property{"pciDeviceId", 0},
    Property{"deviceVer", 100},         Property{"driverVer", 1},
    Property{"multiProcessorCount", 1}, Property{"smClockRateKHz", 1},
    Property{"memClockRateKHz", 1},     Property{"l2CacheSize", 1},
    Property{"totalGlobalMem", 1},      Property{"warpSize", 1},
    Property{"maxThreadsPerBlock", 1},  Property{"maxThreadsPerSM", 1},
    Property{"maxCtasPerSM", 1},        Property{"regsPerBlock", 1},
    Property{"maxRegistersPerSM", 1},   Property{"maxSharedMemoryPerBlock", 1},
    Property{"isTccDriver", 0},         Property{"maxSharedMemoryPerBlockOptin", 1},
    Property{"supportCoopLaunch", 0},   Property{"reservedSharedMemoryPerBlock", 0}};

bool is_whole(const Json& value, std::int64_t least) {
  return value.is_number_integer() && value.get<std::int64_t>() >= least;
}

void check_properties(const std::string& source, const Json& properties) {
  const auto need = [&](const char* name, const std::string& what, const auto& fits) {
    const auto found = properties.find(name);
    if (found == properties.end() || !fits(*found))
      refuse(source, fmt::format("cudnn_properties.{} must be {}", name, what));
  };
  need("deviceName", "a text", [](const Json& value) { return value.is_string(); });
  for (const Property& property : kProperties)
    need(property.name, fmt::format("a whole number from {} up", property.least),
         [&](const Json& value) { return is_whole(value, property.least); });
  for (const char* name : {"maxGridSize", "maxBlockSize"})
    need(name, "three whole numbers from 1 up", [](const Json& value) {
      return value.is_array() && value.size() == 3 &&
             std::ranges::all_of(value, [](const Json& side) { return is_whole(side, 1); });
    });
}

// TF32 and bf16 begin with compute capability 8.0.
void check_peaks(const std::string& source, const Gpu& gpu, const Json& properties) {
  constexpr std::int64_t kFirst = 800;
  const auto version = properties.at("deviceVer").get<std::int64_t>();
  for (const Precision& precision : {kTf32, kBf16})
    if (version < kFirst && gpu.peak_flops.contains(std::string(precision.name)))
      refuse(source, fmt::format("it has a peak for {}, which begins with compute capability 8.0, "
                                 "but its deviceVer is {}; leave the peak out",
                                 precision.name, version));
}

Gpu parse(const std::string& source, const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) refuse(source, "it is not a JSON object");
  Gpu gpu;
  const Json& name = field(source, json, "name");
  if (!name.is_string()) refuse(source, "name must be a text");
  gpu.name = name.get<std::string>();
  const Json& peaks = field(source, json, "peak_tflops");
  if (!peaks.is_object()) refuse(source, "peak_tflops must be an object");
  for (const auto& [precision, tflops] : peaks.items()) {
    if (std::ranges::find(kPrecisions, precision, &Precision::name) == kPrecisions.end())
      refuse(source,
             fmt::format("peak_tflops has {}, which is no precision", printable(precision)));
    gpu.peak_flops[precision] = 1e12 * positive(source, "peak_tflops." + precision, tflops);
  }
  gpu.bytes_per_second =
      1e9 * positive(source, "memory_gb_per_s", field(source, json, "memory_gb_per_s"));
  if (json.contains("last_cudnn"))
    gpu.last_cudnn = std::size_t(positive(source, "last_cudnn", json.at("last_cudnn")));
  const Json& properties = field(source, json, "cudnn_properties");
  if (!properties.is_object()) refuse(source, "cudnn_properties must be an object");
  check_properties(source, properties);
  check_peaks(source, gpu, properties);
  gpu.cudnn_properties = properties.dump();
  return gpu;
}

}  // namespace

Gpu find_gpu(const std::string& name_or_file) {
  std::string names;
  for (const KnownGpu& known : known_gpus()) {
    if (name_or_file == known.name) return parse(known.name, known.json);
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  if (!std::filesystem::is_regular_file(name_or_file))
    refuse(name_or_file, fmt::format("no file, and not one of {}", names));
  const std::vector<std::uint8_t> bytes = read_file(name_or_file);
  return parse(name_or_file, {bytes.begin(), bytes.end()});
}

}  // namespace annulus::forecast
