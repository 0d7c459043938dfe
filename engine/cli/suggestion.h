// What a user who mistyped a name may have meant. Called by main for options and commands that do
// not exist.
#pragma once

#include <string>
#include <vector>

namespace annulus {

// The name with the fewest letters changed, added, left out or exchanged with a neighbour; empty
// where none is near: more than a third of the letters of `word` differ.
std::string nearest_name(const std::string& word, const std::vector<std::string>& names);

}  // namespace annulus
