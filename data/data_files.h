// The files of a data set by their names, whether they lie in a folder or in a .tar or .tar.gz as
// downloaded. A folder's files are read when they are taken; an archive is read once, from front to
// back, and only the files that a data set can have are kept. Called by layouts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

class DataFiles {
 public:
  // Nothing is read yet.
  static DataFiles in_folder(std::filesystem::path folder);

  // Keeps the members for whose file name `wanted` says yes. Throws UserError(data): not an
  // archive, truncated, damaged, larger than any data set.
  static DataFiles in_archive(std::filesystem::path archive,
                              const std::function<bool(std::string_view)>& wanted);

  // The folder or archive.
  const std::filesystem::path& where() const { return where_; }

  bool holds(std::string_view name) const;
  // What an error calls the file.
  std::filesystem::path path_of(std::string_view name) const;
  // Its bytes, which an archive gives only once. Throws UserError(data) where it cannot be read.
  std::vector<std::uint8_t> take(std::string_view name);

 private:
  struct Member {
    std::string path;
    std::vector<std::uint8_t> bytes;
  };

  std::filesystem::path where_;
  bool is_folder_ = true;
  std::map<std::string, Member, std::less<>> members_;  // of an archive, by file name
};

// Whether a file is a tar archive, plain or in gzip: its first bytes say so. Throws UserError(data)
// where gzip is damaged so early.
bool is_archive(const std::filesystem::path& path);

}  // namespace annulus
