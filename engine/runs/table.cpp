// See table.h.
#include "engine/runs/table.h"

#include <algorithm>

#include "engine/terminal_text.h"

namespace annulus::runs {

std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<Align>& columns) {
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], character_count(row[c]));

  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(widths[c] - character_count(row[c]), ' ');
      if (c) line += "  ";
      line += columns[c] == Align::left ? row[c] + blanks : blanks + row[c];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace annulus::runs
