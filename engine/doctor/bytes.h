// Sizes for people: "64 KiB", "94.2 GiB". Called by the checks.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>

namespace annulus::doctor {

inline std::string in_words(std::uint64_t bytes) {
  constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < units.size(); ++unit) size /= 1024;
  return fmt::format("{:.4g} {}", size, units[unit]);
}

}  // namespace annulus::doctor
