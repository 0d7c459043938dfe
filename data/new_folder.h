// A folder that appears whole under its name or not at all, and never replaces another. Called by
// convert.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace annulus {

class NewFolder {
 public:
  // Makes a folder beside `path` under a temporary name (that of `path`, a dot, this process's
  // number, ".tmp"). Throws UserError: usage where `path` exists, storage where it cannot be made.
  explicit NewFolder(std::filesystem::path path);
  ~NewFolder();  // whatever was not published is gone
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  // Throws UserError(storage).
  void add(std::string_view name, std::span<const std::uint8_t> bytes) const;
  void publish();

 private:
  std::filesystem::path path_, temporary_;
};

}  // namespace annulus
