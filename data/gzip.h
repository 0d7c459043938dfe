// gzip (RFC 1952) through zlib, which checks the CRC and the length at a stream's end. Found by its
// first two bytes, never by a file's name. Called by the idx reader and by data_files for archives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "data/byte_source.h"

namespace annulus {

bool is_gzip(std::span<const std::uint8_t> bytes);

// What a gzip stream unpacks to, in a buffer of 64 KiB.
class GzipSource final : public ByteSource {
 public:
  // `path` is for the words of errors alone; it and `packed` must outlive this.
  GzipSource(const std::filesystem::path& path, ByteSource& packed);
  ~GzipSource() override;
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  // Throws UserError(data): truncated gzip, damaged gzip.
  std::size_t read(std::span<std::uint8_t> to) override;

 private:
  struct Stream;
  void refill();

  const std::filesystem::path& path_;
  ByteSource& packed_;
  std::unique_ptr<Stream> stream_;
};

// All of it at once. A file that unpacks to more than kMostUnpackedBytes is refused.
constexpr std::size_t kMostUnpackedBytes = std::size_t{1} << 30;
std::vector<std::uint8_t> unpack_gzip(const std::filesystem::path& path,
                                      std::span<const std::uint8_t> packed);

}  // namespace annulus
