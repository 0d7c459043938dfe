// See replacements.h.
#include "engine/replacements.h"

#include <fmt/format.h>

#include <sstream>

#include "kernels/check.h"
#include "kernels/printable.h"

namespace annulus {

Replacements parse_replacements(const std::string& text) {
  Replacements replacements;
  if (text == kNoReplacements) return replacements;
  std::istringstream parts(text + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    if (part == "batchnorm=cudnn")
      replacements.batchnorm = true;
    else if (part == "dropout=cudnn")
      replacements.dropout = true;
    else
      throw UserError(ExitCode::usage,
                      fmt::format("--replace {}: '{}' cannot be replaced; what can: "
                                  "batchnorm=cudnn, dropout=cudnn, or both with a comma",
                                  printable(text), printable(part)));
  }
  return replacements;
}

}  // namespace annulus
