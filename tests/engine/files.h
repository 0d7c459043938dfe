// Files as tests read them. Used by program.h and annulus_process.h.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace annulus::test {

inline std::string slurp(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace annulus::test
