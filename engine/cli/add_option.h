// How an option is added: a long flag, its ANNULUS_* twin in the environment and its heading in the
// help. Called by engine/cli/options and engine/cli/rank_options.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <type_traits>

namespace annulus {

std::string environment_twin(const std::string& flag);  // "--batch-size" -> "ANNULUS_BATCH_SIZE"

// Of numbers: "nan" and "inf" are in every range.
std::string check_finite(const std::string& text);

template <class T>
inline constexpr bool kIsReal =
    std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::optional<float>> || std::is_same_v<T, std::optional<double>>;

template <class T>
CLI::Option* add(CLI::App& app, const char* group, const std::string& flag, T& value,
                 const std::string& help) {
  CLI::Option* option =
      app.add_option(flag, value, help)->envname(environment_twin(flag))->group(group);
  if constexpr (kIsReal<T>) option->check(check_finite);
  return option;
}

}  // namespace annulus
