// A table of environment knobs, whatever they set: how it is read, and what it says about itself.
// Used by the CPU device's own table and by its NCCL's.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/environment.h"

namespace annulus::cpu {

template <class Options>
struct OptionOf {
  EnvironmentKnob info;
  bool (*parse)(std::string_view value, Options& options);  // false: not accepted
};

// Reads what is set and not empty; returns why each value that is not accepted is refused.
template <class Options, std::size_t N>
std::vector<std::string> read_table(const std::array<OptionOf<Options>, N>& table,
                                    Options& options) {
  std::vector<std::string> refusals;
  for (const OptionOf<Options>& option : table) {
    const char* value = std::getenv(option.info.name);
    if (value == nullptr || *value == '\0' || option.parse(value, options)) continue;
    refusals.push_back(fmt::format("{}={} is not valid: set it to {}, or unset it",
                                   option.info.name, value, option.info.accepted));
  }
  return refusals;
}

template <class Options, std::size_t N>
std::vector<EnvironmentKnob> knobs_of(const std::array<OptionOf<Options>, N>& table) {
  std::vector<EnvironmentKnob> knobs;
  for (const OptionOf<Options>& option : table) knobs.push_back(option.info);
  return knobs;
}

}  // namespace annulus::cpu
