// See value.h.
#include "engine/k8s/value.h"

#include <charconv>

namespace annulus::k8s {

const Value& Value::operator[](std::string_view key) const {
  static const Value missing;
  if (kind != Kind::map) return missing;
  for (std::size_t i = keys.size(); i > 0; --i)
    if (keys[i - 1] == key) return items[i - 1];
  return missing;
}

std::optional<std::int64_t> Value::whole() const {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (kind != Kind::scalar || error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace annulus::k8s
