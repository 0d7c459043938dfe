// See add_option.h.
#include "engine/cli/add_option.h"

#include <cctype>
#include <cmath>
#include <cstdlib>

namespace annulus {

std::string environment_twin(const std::string& flag) {
  std::string name = "ANNULUS_";
  for (char c : flag.substr(2))
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string check_finite(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  return std::isfinite(value) ? "" : "'" + text + "' is no finite number";
}

}  // namespace annulus
