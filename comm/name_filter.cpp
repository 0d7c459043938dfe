// See name_filter.h.
#include "comm/name_filter.h"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace annulus {

NameFilter::NameFilter(const std::string& text) {
  std::string_view list = text;
  excludes_ = list.starts_with('^');
  if (excludes_) list.remove_prefix(1);
  exact_ = list.starts_with('=');
  if (exact_) list.remove_prefix(1);

  std::istringstream words{std::string(list)};
  for (std::string word; std::getline(words, word, ',');)
    if (!word.empty()) patterns_.push_back(split(word));
}

NameFilter::Pattern NameFilter::split(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {.name = text};
  return {.name = text.substr(0, colon), .port = text.substr(colon + 1)};
}

bool NameFilter::fits(const Pattern& pattern, const Pattern& candidate) const {
  if (!pattern.port.empty() && !candidate.port.empty() && pattern.port != candidate.port)
    return false;
  return exact_ ? candidate.name == pattern.name : candidate.name.starts_with(pattern.name);
}

bool NameFilter::takes(const std::string& name) const {
  const Pattern candidate = split(name);
  const bool listed =
      patterns_.empty() || std::ranges::any_of(patterns_, [&](const Pattern& pattern) {
        return fits(pattern, candidate);
      });
  return listed != excludes_;
}

}  // namespace annulus
