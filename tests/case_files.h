// The public cases of ../shared, where it is; a test that needs one says that it is not and passes.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace annulus::test {

// `path` within ../shared.
inline std::optional<std::ifstream> open_shared(const std::string& path) {
  const char* shared = std::getenv("ANNULUS_SHARED");
  std::ifstream file(std::string(shared ? shared : "") + "/" + path);
  if (shared && file) return file;
  std::cout << "skipped: no ../shared\n";
  return std::nullopt;
}

inline std::optional<std::ifstream> open_case(const std::string& name) {
  return open_shared("cases/files/handout/" + name);
}

inline std::optional<nlohmann::json> shared_file(const std::string& path) {
  auto file = open_shared(path);
  return file ? std::optional(nlohmann::json::parse(*file)) : std::nullopt;
}

inline std::optional<nlohmann::json> case_file(const std::string& name) {
  return shared_file("cases/files/handout/" + name);
}

// A file of one JSON object a line.
inline std::vector<nlohmann::json> case_lines(const std::string& name) {
  std::vector<nlohmann::json> lines;
  if (auto file = open_case(name))
    for (std::string line; std::getline(*file, line);)
      if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace annulus::test
