// See tar.h; fields and types as GNU tar's manual, "Basic Tar Format", gives them.
#include "data/tar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "data/data_error.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

using Block = std::array<std::uint8_t, kTarBlock>;

// Offsets and lengths of a header's fields.
struct Field {
  std::size_t at, size;
};
constexpr Field kName = {0, 100}, kSize = {124, 12}, kChecksum = {148, 8}, kPrefix = {345, 155};
constexpr std::size_t kType = 156, kMagic = 257;

constexpr std::string_view kDescribesNext = "LKxg";  // types whose data speaks of the next member
constexpr std::uint64_t kMostData = std::uint64_t{1} << 60;
constexpr std::uint64_t kMostHeaderData = std::uint64_t{1} << 20;  // a long name, pax records

std::string_view text(std::span<const std::uint8_t> block, Field field) {
  const std::string_view all(reinterpret_cast<const char*>(block.data()) + field.at, field.size);
  return all.substr(0, all.find('\0'));
}

// Octal digits between blanks, or GNU's base 256 where the first bit is set.
std::optional<std::uint64_t> number(std::span<const std::uint8_t> block, Field field) {
  const std::span<const std::uint8_t> bytes = block.subspan(field.at, field.size);
  std::uint64_t value = 0;
  if ((bytes[0] & 0x80) != 0) {
    for (const std::uint8_t byte : bytes.last(8)) value = value << 8 | byte;
    return value;
  }
  std::string_view digits = text(block, field);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find(' '));
  const char* end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, value, 8).ptr != end) return std::nullopt;
  return value;
}

bool all_zero(std::span<const std::uint8_t> block) {
  return std::all_of(block.begin(), block.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

// The sum of all bytes, the checksum's own counted as blanks.
bool is_tar(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kTarBlock || all_zero(bytes.first(kTarBlock))) return false;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i)
    sum += i >= kChecksum.at && i < kChecksum.at + kChecksum.size ? ' ' : bytes[i];
  return number(bytes, kChecksum) == sum;
}

struct TarReader::Header {
  std::string name;
  char type;
};

// None at the end, which two blocks of zeros mark; a single one does too, as GNU tar has it.
std::optional<TarReader::Header> TarReader::next_header() {
  skip_rest();
  Block block{};
  if (const std::size_t got = read_fully(source_, block); got < block.size())
    throw_data_error(path_, "truncated tar: it ends after {} without its end mark; get it again",
                     name_.empty() ? "its beginning" : printable(name_));
  if (all_zero(block)) return std::nullopt;
  if (!is_tar(block))
    throw_data_error(path_, "not tar, or damaged: the header after {} has a wrong checksum",
                     name_.empty() ? "its beginning" : printable(name_));
  const std::optional<std::uint64_t> size = number(block, kSize);
  if (!size) throw_data_error(path_, "damaged tar: {} has no size", printable(text(block, kName)));
  std::string name(text(block, kName));
  if (const std::string_view prefix = text(block, kPrefix);
      !prefix.empty() && text(block, {kMagic, 6}) == "ustar")
    name = fmt::format("{}/{}", prefix, name);
  const char type = static_cast<char>(block[kType]);
  const bool describes_next = kDescribesNext.find(type) != std::string_view::npos;
  begin_data(describes_next ? *size : next_size_.value_or(*size));
  return Header{std::move(name), type};
}

void TarReader::begin_data(std::uint64_t size) {
  if (size > kMostData) throw_data_error(path_, "damaged tar: a size of {} bytes", size);
  left_ = size;
  padding_ = (kTarBlock - left_ % kTarBlock) % kTarBlock;
}

void TarReader::skip_rest() {
  Block block{};
  while (left_ + padding_ > 0) {
    const std::uint64_t want = std::min<std::uint64_t>(left_ > 0 ? left_ : padding_, kTarBlock);
    if (read_fully(source_, std::span(block).first(want)) < want)
      throw_data_error(path_, "truncated tar: it ends within {}; get it again", printable(name_));
    (left_ > 0 ? left_ : padding_) -= want;
  }
}

std::optional<TarMember> TarReader::next() {
  next_name_.reset();
  next_size_.reset();
  while (const std::optional<Header> header = next_header()) {
    name_ = next_name_.value_or(header->name);
    switch (header->type) {
      case 'L':
        next_name_ = take_name();
        break;
      case 'x':
        apply_pax(contents(kMostHeaderData));
        break;
      case '0':
      case '\0':
      case '7':
        return TarMember{name_, left_};
      case 'K':  // a link's long target
      case 'g':  // pax records for all members
        break;
      default:  // folders, links, devices: nothing that a data set needs
        next_name_.reset();
        next_size_.reset();
    }
  }
  return std::nullopt;
}

std::vector<std::uint8_t> TarReader::contents(std::uint64_t most) {
  if (left_ > most)
    throw_data_error(path_, "{} has {} bytes, more than the {} that are read of one file",
                     printable(name_), left_, most);
  constexpr std::uint64_t chunk = std::uint64_t{1} << 16;
  std::vector<std::uint8_t> bytes;
  const std::uint64_t size = left_;
  while (left_ > 0) {
    const std::size_t done = bytes.size(), want = std::min(left_, chunk);
    bytes.resize(done + want);
    const std::size_t got = read_fully(source_, std::span(bytes).last(want));
    if (got < want)
      throw_data_error(path_, "truncated tar: {} of {}'s {} bytes; get it again", done + got,
                       printable(name_), size);
    left_ -= got;
  }
  return bytes;
}

std::string TarReader::take_name() {
  const std::vector<std::uint8_t> bytes = contents(kMostHeaderData);
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::string(all.substr(0, all.find('\0')));
}

// Records "LENGTH KEY=VALUE\n", LENGTH counting the whole record.
void TarReader::apply_pax(const std::vector<std::uint8_t>& records) {
  std::string_view left(reinterpret_cast<const char*>(records.data()), records.size());
  const auto damaged = [this] {
    throw_data_error(path_, "damaged tar: a pax record is not whole; get it again");
  };
  while (!left.empty()) {
    std::size_t length = 0;
    const auto digits_end = std::from_chars(left.data(), left.data() + left.size(), length).ptr;
    const auto digits = static_cast<std::size_t>(digits_end - left.data());
    if (digits == 0 || length > left.size() || length < digits + 2 || left[digits] != ' ' ||
        left[length - 1] != '\n')
      damaged();
    const std::string_view record = left.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) damaged();
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") next_name_ = value;
    if (key == "size") {
      std::uint64_t size = 0;
      const char* end = value.data() + value.size();
      if (std::from_chars(value.data(), end, size).ptr != end) damaged();
      next_size_ = size;
    }
    left.remove_prefix(length);
  }
}

}  // namespace annulus
