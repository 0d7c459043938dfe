// How every error about a data file reads: the path, the fact and the fix, in one line whatever
// bytes a file put into it. Called by the readers.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "kernels/check.h"

namespace annulus {

template <class... Arguments>
[[noreturn]] void throw_data_error(const std::filesystem::path& path,
                                   fmt::format_string<Arguments...> fact_and_fix,
                                   Arguments&&... arguments) {
  std::string message = fmt::format(
      "{}: {}", path.string(), fmt::format(fact_and_fix, std::forward<Arguments>(arguments)...));
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  std::replace_if(message.begin(), message.end(), is_control, '?');
  throw UserError(ExitCode::data, message);
}

}  // namespace annulus
