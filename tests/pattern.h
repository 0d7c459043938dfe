// Regular expressions (ECMAScript's) for tests. Invariant: std::regex is seen by pattern.cpp alone,
// because it costs every file that sees it half a minute of compiling under a sanitizer.
#pragma once

#include <string>
#include <vector>

namespace annulus::test {

bool matches(const std::string& text, const std::string& pattern);   // all of the text
bool contains(const std::string& text, const std::string& pattern);  // a part of it

// Every match from left to right: the whole at [0], then the pattern's groups.
using Groups = std::vector<std::string>;
std::vector<Groups> all_matches(const std::string& text, const std::string& pattern);

}  // namespace annulus::test
