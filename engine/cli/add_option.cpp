// See add_option.h.
#include "engine/cli/add_option.h"

#include <cctype>

namespace annulus {

std::string environment_twin(const std::string& flag) {
  std::string name = "ANNULUS_";
  for (char c : flag.substr(2))
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace annulus
