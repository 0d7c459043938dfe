// See precision.h.
#include "engine/precision.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/check.h"

namespace annulus {

std::string precision_names(const char* between) {
  std::string names;
  for (const Precision& precision : kPrecisions)
    names.append(names.empty() ? "" : between).append(precision.name);
  return names;
}

std::optional<Precision> find_precision(const std::string& name) {
  const auto* const found = std::ranges::find(kPrecisions, name, &Precision::name);
  return found == kPrecisions.end() ? std::nullopt : std::optional(*found);
}

Precision parse_precision(const std::string& name) {
  const std::optional<Precision> found = find_precision(name);
  if (!found)
    throw UserError(ExitCode::usage,
                    fmt::format("--precision {}: there is no such precision; one of: {}", name,
                                precision_names(", ")));
  return *found;
}

void require_precision(const Precision& precision, const cudaDeviceProp& device) {
  constexpr int kFirstWithBf16 = 8;
  if (precision.element == Element::bf16 && device.major < kFirstWithBf16)
    throw UserError(
        ExitCode::device,
        fmt::format("--precision bf16: {} has compute capability {}.{}, and bf16 begins with 8.0; "
                    "use --precision fp16",
                    device.name, device.major, device.minor));
}

void require_precision(const Precision& precision) {
  int device = 0;
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  require_precision(precision, properties);
}

}  // namespace annulus
