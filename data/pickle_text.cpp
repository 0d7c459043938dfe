// A pickle's strings: the ways in which bytes are written down.
#include "data/data_error.h"
#include "data/pickle.h"

namespace annulus {
namespace {

constexpr std::size_t kLongestKey = 64;

int hex_digit(std::uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Takes what was written apart, a byte of text at a time.
class Unescaper {
 public:
  Unescaper(const std::filesystem::path& path, std::span<const std::uint8_t> written)
      : path_(path), left_(written) {}

  bool at_end() const { return left_.empty(); }

  // Python's repr of a byte string: \n \t \r \\ \' \" and \xNN.
  std::uint8_t quoted() {
    const std::uint8_t c = take();
    if (c != '\\') return c;
    switch (const std::uint8_t escaped = take()) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'x':
        return hex(2);
      case '\\':
      case '\'':
      case '"':
        return escaped;
      default:
        fail();
    }
  }

  std::uint8_t raw_unicode() {
    const std::uint8_t c = take();
    if (c != '\\' || left_.empty() || left_.front() != 'u') return c;
    take();
    return hex(4);
  }

  // One character of UTF-8 below 256.
  std::uint8_t latin1() {
    const std::uint8_t first = take();
    if (first < 0x80) return first;
    const std::uint8_t second = take();
    if ((first & 0xfc) != 0xc0 || (second & 0xc0) != 0x80) fail();
    return static_cast<std::uint8_t>(first << 6 | (second & 0x3f));
  }

 private:
  std::uint8_t take() {
    if (left_.empty()) fail();
    const std::uint8_t c = left_.front();
    left_ = left_.subspan(1);
    return c;
  }

  std::uint8_t hex(int digits) {
    int value = 0;
    for (int i = 0; i < digits; ++i) {
      const int digit = hex_digit(take());
      if (digit < 0) fail();
      value = value * 16 + digit;
    }
    if (value > 0xff) fail();
    return static_cast<std::uint8_t>(value);
  }

  [[noreturn]] void fail() const {
    throw_data_error(path_,
                     "a string in this pickle is not written as Python writes bytes: "
                     "damaged; get the file again");
  }

  const std::filesystem::path& path_;
  std::span<const std::uint8_t> left_;
};

}  // namespace

std::span<const std::uint8_t> Pickle::bytes_of(const PickleValue& text,
                                               std::vector<std::uint8_t>& room) const {
  if (text.writing == PickleWriting::plain) return text.written;
  room.clear();
  for (Unescaper from(path_, text.written); !from.at_end();)
    room.push_back(text.writing == PickleWriting::quoted        ? from.quoted()
                   : text.writing == PickleWriting::raw_unicode ? from.raw_unicode()
                                                                : from.latin1());
  return room;
}

std::string Pickle::string_of(const PickleValue& text) const {
  std::vector<std::uint8_t> room;
  const std::span<const std::uint8_t> bytes = bytes_of(text, room);
  return {bytes.begin(), bytes.end()};
}

// A key that cannot be one of ours is not even unescaped: one long string may be a key many times.
const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  const std::span<const PickleValue> entries = items(dict);
  for (std::size_t i = entries.size(); i >= 2; i -= 2) {
    const PickleValue& candidate = entries[i - 2];
    if (candidate.kind == PickleKind::text && candidate.written.size() <= kLongestKey &&
        string_of(candidate) == key)
      return &entries[i - 1];
  }
  return nullptr;
}

}  // namespace annulus
