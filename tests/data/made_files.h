// Small archives and pickles made byte by byte, so that readers are not only tested on what our own
// writers write. Used by the tests of data/ and by the seeds of tests/fuzz.
#pragma once

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace annulus::test {

using Bytes = std::vector<std::uint8_t>;

inline Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

inline Bytes joined(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline Bytes gzip(const Bytes& bytes) {
  z_stream zlib{};
  if (deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw std::runtime_error("deflateInit2");
  Bytes packed(deflateBound(&zlib, bytes.size()) + 64);
  zlib.next_in = const_cast<Bytef*>(bytes.data());
  zlib.avail_in = static_cast<uInt>(bytes.size());
  zlib.next_out = packed.data();
  zlib.avail_out = static_cast<uInt>(packed.size());
  deflate(&zlib, Z_FINISH);
  packed.resize(zlib.total_out);
  deflateEnd(&zlib);
  return packed;
}

// --- tar ---

// One member: header, data, padding. `type` as in ustar's typeflag.
inline Bytes tar_member(std::string_view name, const Bytes& data, char type = '0',
                        std::string_view prefix = "") {
  Bytes header(512);
  const auto put = [&](std::size_t at, std::string_view text) {
    std::copy(text.begin(), text.end(), header.begin() + static_cast<long>(at));
  };
  put(0, name);
  put(100, "0000644");
  put(124, fmt::format("{:011o}", data.size()));
  put(148, "        ");
  put(156, std::string_view(&type, 1));
  put(257, "ustar");
  put(263, "00");
  put(345, prefix);
  unsigned sum = 0;
  for (const std::uint8_t byte : header) sum += byte;
  put(148, fmt::format("{:06o}", sum));
  header[154] = 0;
  Bytes member = joined({header, data});
  member.resize((member.size() + 511) / 512 * 512);
  return member;
}

inline Bytes tar(std::vector<Bytes> members) {
  members.emplace_back(1024);  // the end mark
  return joined(members);
}

// --- idx ---

// Image i has pixel (11 i + 2 y + 9 x) % 256, as the reference cases have it.
inline Bytes idx_images(std::uint8_t count, std::uint8_t height = 28, std::uint8_t width = 28) {
  Bytes bytes = {0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, height, 0, 0, 0, width};
  for (int i = 0; i < count; ++i)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        bytes.push_back(static_cast<std::uint8_t>(11 * i + 2 * y + 9 * x));
  return bytes;
}

inline Bytes idx_labels(const Bytes& labels) {
  return joined({{0, 0, 8, 1, 0, 0, 0, static_cast<std::uint8_t>(labels.size())}, labels});
}

// --- pickles ---

// How a pickle's writer wrote strings and called numpy.
enum class Dialect : std::uint8_t {
  protocol0,      // Python 2, text
  python2,        // protocol 2, Python 2: str is bytes
  python3_for_2,  // protocol 2, Python 3: bytes through _codecs.encode
  protocol4,      // Python 3, str keys, STACK_GLOBAL, MEMOIZE, FRAME
  protocol5,      // numpy 2's _frombuffer of a BYTEARRAY8
};

inline constexpr Dialect kDialects[] = {Dialect::protocol0, Dialect::python2,
                                        Dialect::python3_for_2, Dialect::protocol4,
                                        Dialect::protocol5};

// Writes one dictionary of CIFAR in a dialect. Every part may be wrong on purpose.
class CifarDictionary {
 public:
  explicit CifarDictionary(Dialect dialect) : dialect_(dialect) {
    if (dialect == Dialect::protocol0)
      raw("(d");
    else
      raw(newer() ? "\x80\x04}(" : "\x80\x02}(");
  }

  CifarDictionary& labels(std::string_view key, const std::vector<int>& values) {
    text(key);
    raw(dialect_ == Dialect::protocol0 ? "(l" : "](");
    for (const int value : values) {
      integer(value);
      if (dialect_ == Dialect::protocol0) raw("a");
    }
    return end_value(dialect_ == Dialect::protocol0 ? "" : "e");
  }

  CifarDictionary& array(std::string_view key, int rows, int columns, const Bytes& contents,
                         std::string_view dtype_code = "u1") {
    text(key);
    if (dialect_ == Dialect::protocol5) {
      global("numpy._core.numeric", "_frombuffer");
      raw("(").raw("\x96").number(contents.size(), 8).raw(contents);
      dtype(dtype_code);
      raw("(");
      integer(rows);
      integer(columns);
      raw("t");
      text("C");
      return raw("tR").end_value("");
    }
    global("numpy.core.multiarray", "_reconstruct");
    raw("(");
    global("numpy", "ndarray");
    raw("(");
    integer(0);
    raw("t");
    bytes({'b'});
    raw("tR(");
    integer(1);
    raw("(");
    integer(rows);
    integer(columns);
    raw("t");
    dtype(dtype_code);
    boolean(false);
    bytes(contents);
    return raw("tb").end_value("");
  }

  Bytes finished() {
    if (dialect_ != Dialect::protocol0) raw("u");
    raw(".");
    if (!newer()) return bytes_;
    const Bytes body(bytes_.begin() + 2, bytes_.end());
    bytes_.resize(2);
    raw("\x95").number(body.size(), 8).raw(body);
    return bytes_;
  }

 private:
  bool newer() const { return dialect_ >= Dialect::protocol4; }

  CifarDictionary& raw(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  CifarDictionary& raw(const Bytes& more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  CifarDictionary& number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return *this;
  }
  CifarDictionary& end_value(std::string_view more) {
    return raw(more).raw(dialect_ == Dialect::protocol0 ? "s" : "");
  }

  void integer(int value) {
    if (dialect_ == Dialect::protocol0)
      raw(fmt::format("I{}\n", value));
    else
      raw("J").number(static_cast<std::uint32_t>(value), 4);
  }
  void boolean(bool value) {
    if (dialect_ == Dialect::protocol0)
      raw(value ? "I01\n" : "I00\n");
    else
      raw(value ? "\x88" : "\x89");
  }
  void none() { raw("N"); }

  void text(std::string_view value) {
    switch (dialect_) {
      case Dialect::protocol0:
        raw("S'").raw(value).raw("'\n");
        break;
      case Dialect::python2:
        raw("U").number(value.size(), 1).raw(value);
        break;
      case Dialect::python3_for_2:
        raw("X").number(value.size(), 4).raw(value);
        break;
      default:
        raw("\x8c").number(value.size(), 1).raw(value);
        raw("\x94");
    }
  }

  void bytes(const Bytes& value) {
    switch (dialect_) {
      case Dialect::protocol0:
        raw("S'");
        for (const std::uint8_t byte : value) raw(fmt::format("\\x{:02x}", byte));
        raw("'\n");
        break;
      case Dialect::python2:
        raw("T").number(value.size(), 4).raw(value);
        break;
      case Dialect::python3_for_2: {
        Bytes utf8;
        for (const std::uint8_t byte : value) {
          if (byte >= 0x80) utf8.push_back(static_cast<std::uint8_t>(0xc0 | byte >> 6));
          utf8.push_back(byte < 0x80 ? byte : static_cast<std::uint8_t>(0x80 | (byte & 0x3f)));
        }
        global("_codecs", "encode");
        raw("(X").number(utf8.size(), 4).raw(utf8);
        text("latin1");
        raw("tR");
        break;
      }
      default:
        raw("B").number(value.size(), 4).raw(value);
    }
  }

  void global(std::string_view module, std::string_view name) {
    if (!newer()) {
      raw("c").raw(module).raw("\n").raw(name).raw("\n");
      return;
    }
    text(module);
    text(name);
    raw("\x93");
  }

  void dtype(std::string_view code) {
    global("numpy", "dtype");
    raw("(");
    text(code);
    boolean(false);
    boolean(true);
    raw("tR(");
    integer(3);
    text(code == "u1" ? "|" : "<");
    for (int i = 0; i < 3; ++i) none();
    integer(-1);
    integer(-1);
    integer(0);
    raw("tb");
  }

  Dialect dialect_;
  Bytes bytes_;
};

}  // namespace annulus::test
