// A file that grows by whole records, for readers that watch it: each record is one write, seen at
// once, and a process that is killed leaves whole records. Called by engine/katib and
// engine/tensorboard.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace annulus {

class RecordFile {
 public:
  enum class Earlier { goes, stays };  // what a file of this name held before

  // `fix` ends the message of an error: what the user can do about it. Throws UserError (storage)
  // where the file cannot be made.
  RecordFile(std::filesystem::path path, Earlier earlier, std::string fix);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  void append(std::string_view record);  // throws UserError (storage)

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::string fix_;
  int descriptor_;
};

}  // namespace annulus
