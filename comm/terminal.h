// How text looks where it goes: colours only on a terminal that wants them, lines broken at words.
// Used by the help, the report of `annulus doctor`, and errors.
#pragma once

#include <cstddef>
#include <string>

namespace annulus {

struct Look {
  bool coloured = false;    // with the escapes of a terminal
  std::size_t columns = 0;  // of the terminal; 0: not a terminal, or it does not say
};

// Coloured: `descriptor` is a terminal, $NO_COLOR is unset or empty (https://no-color.org), and
// $TERM is not "dumb".
Look look_of(int descriptor);

// `sgr`: parameters of the terminal's "select graphic rendition", "1" for bold, "31" for red.
std::string paint(const std::string& text, const char* sgr, const Look& look);

// Breaks `text`, which starts in column `indent`, before the words that would cross `columns`; 0,
// or too few of them: not at all.
std::string wrap(const std::string& text, std::size_t indent, std::size_t columns);

}  // namespace annulus
