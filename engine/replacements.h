// Which layers compute with cuDNN's own kernels in place of ours: --replace. Ours are the default
// everywhere; what else changes with cuDNN's stands in docs/numerics.md. Called where options are
// checked and models are built.
#pragma once

#include <string>

namespace annulus {

struct Replacements {
  bool batchnorm = false;  // in training; evaluation is ours
  bool dropout = false;

  bool operator==(const Replacements&) const = default;
};

inline constexpr const char* kNoReplacements = "none";

// "none", or "batchnorm=cudnn", "dropout=cudnn" with a comma between. Throws UserError (usage).
Replacements parse_replacements(const std::string& text);

}  // namespace annulus
