// See gzip.h. Several streams one after another are one, as RFC 1952 (2.2) says.
#include "data/gzip.h"

#include <zlib.h>

#include <array>
#include <limits>
#include <stdexcept>

#include "data/data_error.h"

namespace annulus {

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

struct GzipSource::Stream {
  z_stream zlib{};
  std::array<std::uint8_t, std::size_t{1} << 16> buffer{};
  bool at_stream_end = false;
};

namespace {
constexpr int kGzipOnly = 15 + 16;  // zlib's windowBits: the largest window, a gzip header
}  // namespace

GzipSource::GzipSource(const std::filesystem::path& path, ByteSource& packed)
    : path_(path), packed_(packed), stream_(std::make_unique<Stream>()) {
  if (inflateInit2(&stream_->zlib, kGzipOnly) != Z_OK)
    throw std::runtime_error("inflateInit2 failed in zlib");
}

GzipSource::~GzipSource() { inflateEnd(&stream_->zlib); }

void GzipSource::refill() {
  z_stream& zlib = stream_->zlib;
  if (zlib.avail_in > 0) return;
  zlib.next_in = stream_->buffer.data();
  zlib.avail_in = static_cast<uInt>(packed_.read(stream_->buffer));
}

std::size_t GzipSource::read(std::span<std::uint8_t> to) {
  z_stream& zlib = stream_->zlib;
  const std::size_t most = std::min<std::size_t>(to.size(), std::numeric_limits<uInt>::max());
  zlib.next_out = to.data();
  zlib.avail_out = static_cast<uInt>(most);
  while (zlib.avail_out == most) {
    refill();
    if (zlib.avail_in == 0) {
      if (stream_->at_stream_end) return 0;
      throw_data_error(path_, "truncated gzip: it ends before its data does; get the file again");
    }
    if (stream_->at_stream_end) {
      inflateReset(&zlib);
      stream_->at_stream_end = false;
    }
    const int status = inflate(&zlib, Z_NO_FLUSH);
    stream_->at_stream_end = status == Z_STREAM_END;
    if (status != Z_OK && status != Z_STREAM_END)
      throw_data_error(path_, "damaged gzip data ({}); get the file again",
                       zlib.msg != nullptr ? zlib.msg : "zlib gave no reason");
  }
  return most - zlib.avail_out;
}

std::vector<std::uint8_t> unpack_gzip(const std::filesystem::path& path,
                                      std::span<const std::uint8_t> packed) {
  MemorySource source(packed);
  GzipSource unpacked(path, source);
  std::vector<std::uint8_t> bytes;
  std::array<std::uint8_t, std::size_t{1} << 16> chunk{};
  while (const std::size_t got = unpacked.read(chunk)) {
    if (bytes.size() + got > kMostUnpackedBytes)
      throw_data_error(path, "unpacks to more than {} bytes, which no data file does",
                       kMostUnpackedBytes);
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return bytes;
}

}  // namespace annulus
