// See terminal.h.
#include "comm/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string_view>

#include "kernels/environment.h"

namespace annulus {
namespace {

const DeclaredEnvironment kDeclared("Terminal",
                                    {{"NO_COLOR", "", "any text", "no colours, also on a terminal"},
                                     {"TERM", "", "a terminal's name", "dumb: no colours"}});

std::string_view environment_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Look look_of(int descriptor) {
  if (isatty(descriptor) == 0) return {};
  winsize window{};
  ioctl(descriptor, TIOCGWINSZ, &window);
  return {.coloured =
              environment_or_empty("NO_COLOR").empty() && environment_or_empty("TERM") != "dumb",
          .columns = window.ws_col};
}

std::string paint(const std::string& text, const char* sgr, const Look& look) {
  return look.coloured ? fmt::format("\x1b[{}m{}\x1b[0m", sgr, text) : text;
}

std::string wrap(const std::string& text, std::size_t indent, std::size_t columns) {
  constexpr std::size_t kNarrowest = 20;
  if (columns < indent + kNarrowest) return text;
  std::string wrapped;
  std::size_t column = indent;
  std::istringstream words(text);
  for (std::string word; words >> word; column += word.size()) {
    if (wrapped.empty()) {
      wrapped = word;
    } else if (column + 1 + word.size() <= columns) {
      wrapped += " " + word;
      ++column;
    } else {
      wrapped += "\n" + std::string(indent, ' ') + word;
      column = indent;
    }
  }
  return wrapped;
}

}  // namespace annulus
