// Rows of text in aligned columns, as `annulus runs` prints them. Called by engine/runs.
#pragma once

#include <string>
#include <vector>

namespace annulus::runs {

enum class Align { left, right };

// Column by column as wide as its widest cell, two blanks between them, none at a line's end. Rows
// may be shorter than the first; cells are printable UTF-8.
std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<Align>& columns);

}  // namespace annulus::runs
