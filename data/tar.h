// Tar archives, read from front to back: ustar (POSIX.1-1988), GNU's long names and pax's path and
// size (POSIX.1-2001). Only regular files are given; links, devices and folders are passed over,
// and nothing is ever written, so no name in an archive can do harm. libarchive would do this too,
// but it does not check gzip's CRC. Invariant: memory follows the bytes that arrive, never a size
// that a header claims. Called by data_files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/byte_source.h"

namespace annulus {

constexpr std::size_t kTarBlock = 512;

// Whether these first bytes of a file are a tar header: its checksum fits.
bool is_tar(std::span<const std::uint8_t> bytes);

struct TarMember {
  std::string name;
  std::uint64_t size = 0;  // bytes
};

class TarReader {
 public:
  // `path` is for the words of errors alone; it and `source` must outlive this.
  TarReader(const std::filesystem::path& path, ByteSource& source) : path_(path), source_(source) {}

  // The next regular file; what was not read of the one before is passed over. Throws
  // UserError(data): truncated, damaged.
  std::optional<TarMember> next();

  // Of the member that next() gave last. Refuses more than `most` bytes.
  std::vector<std::uint8_t> contents(std::uint64_t most);

 private:
  struct Header;
  std::optional<Header> next_header();
  void begin_data(std::uint64_t size);
  void skip_rest();
  std::string take_name();
  void apply_pax(const std::vector<std::uint8_t>& records);

  const std::filesystem::path& path_;
  ByteSource& source_;
  std::uint64_t left_ = 0;     // bytes of the current member not yet read
  std::uint64_t padding_ = 0;  // bytes after them, up to a whole block
  std::string name_;           // of the current member
  // What long-name and pax headers say of the member that follows them.
  std::optional<std::string> next_name_;
  std::optional<std::uint64_t> next_size_;
};

}  // namespace annulus
