// What this binary is made of: version, commit, compiler, flags and library versions, fixed when it
// was built. Written into every run's config.json, so that a result can be traced to its code.
// Filled in by cmake/BuildInfo.cmake.
#pragma once

#include <string_view>

namespace annulus {

struct BuildInfo {
  std::string_view version;     // "0.1.0"
  std::string_view commit;      // 40 hex digits, or "unknown" outside a git clone
  bool dirty;                   // the sources differed from the commit
  std::string_view compiler;    // "GNU 12.2.0"
  std::string_view flags;       // all compile options
  std::string_view build_type;  // "Release"
  std::string_view cuda;        // the toolkit: "13.0.88"; empty without (the cpu presets)
  std::string_view onednn;      // versions of the CPU device's libraries
};

const BuildInfo& build_info();

}  // namespace annulus
