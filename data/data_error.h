// How every error about a data file reads: the path, the fact and the fix, in one line. Called by
// the readers.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "kernels/check.h"

namespace annulus {

template <class... Arguments>
[[noreturn]] void throw_data_error(const std::filesystem::path& path,
                                   fmt::format_string<Arguments...> fact_and_fix,
                                   Arguments&&... arguments) {
  throw UserError(ExitCode::data,
                  fmt::format("{}: {}", path.string(),
                              fmt::format(fact_and_fix, std::forward<Arguments>(arguments)...)));
}

}  // namespace annulus
