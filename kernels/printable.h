// Text out of a file or a variable, made fit for one line of an error: at most 60 characters, what
// a terminal would act on shown as '?'. Called by the readers in data and comm.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace annulus {

inline std::string printable(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string shown(text.substr(0, most));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return std::isprint(c) == 0; }, '?');
  return text.size() > most ? shown + "..." : shown;
}

}  // namespace annulus
