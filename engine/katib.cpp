// See katib.h.
#include "engine/katib.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

// The shortest digits that read back as `value`, without an exponent: at most 309 before the point,
// or 324 zeros and 17 digits behind it.
std::string plain_decimal(double value) {
  std::array<char, 400> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
  return {text.data(), end};
}

void add_numbers(Json& line, const Json& from) {
  for (const auto& [name, value] : from.items()) {
    if (value.is_number_float()) line[name] = plain_decimal(value.get<double>());
    if (value.is_number_integer()) line[name] = value.dump();
    if (value.is_object()) add_numbers(line, value);
  }
}

}  // namespace

std::string katib_line(const Json& epoch) {
  Json line{{"timestamp", epoch.at("time")}};
  add_numbers(line, epoch);
  return line.dump();
}

}  // namespace annulus
