// How an option is added: a long flag, its ANNULUS_* twin in the environment and its heading in the
// help. Called by engine/cli/options and engine/cli/rank_options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace annulus {

std::string environment_twin(const std::string& flag);  // "--batch-size" -> "ANNULUS_BATCH_SIZE"

template <class T>
CLI::Option* add(CLI::App& app, const char* group, const std::string& flag, T& value,
                 const std::string& help) {
  return app.add_option(flag, value, help)->envname(environment_twin(flag))->group(group);
}

}  // namespace annulus
