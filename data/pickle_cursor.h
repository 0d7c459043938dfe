// A pickle's bytes, read from front to back, and what is said when they end or make no sense.
// Invariant: nothing is read beyond the end. Called by the pickle machine alone.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "data/data_error.h"
#include "data/gzip.h"
#include "data/pickle_opcodes.h"
#include "kernels/printable.h"

namespace annulus {

inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class PickleCursor {
 public:
  // `path` is for the words of errors alone; both must outlive this.
  PickleCursor(const std::filesystem::path& path, std::span<const std::uint8_t> bytes)
      : path_(path), bytes_(bytes) {}

 protected:
  // Protocols 0 and 1 have no signature; a data file begins with a container or a global then.
  void check_is_pickle() const {
    if (bytes_.empty()) throw_data_error(path_, "is empty; get the file again");
    if (is_gzip(bytes_))
      throw_data_error(path_, "holds gzip data, not a pickle; run: mv {0} {0}.gz && gunzip {0}.gz",
                       path_.string());
    const std::uint8_t first = bytes_[0];
    constexpr std::string_view unsigned_beginnings = "(}]c";
    if (first != kProto &&
        unsigned_beginnings.find(static_cast<char>(first)) == std::string_view::npos)
      throw_data_error(path_, "not a pickle (first byte 0x{:02x}); get the Python version", first);
  }

  std::size_t left() const { return bytes_.size() - at_; }

  std::uint8_t take_opcode() {
    opcode_at_ = at_;
    return take(1)[0];
  }

  std::span<const std::uint8_t> take(std::uint64_t count) {
    if (count > left()) fail_truncated(count);
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  std::uint64_t little_endian(std::size_t count) {
    std::uint64_t value = 0;
    const std::span<const std::uint8_t> bytes = take(count);
    for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
    return value;
  }

  std::span<const std::uint8_t> take_line() {
    const auto rest = bytes_.subspan(at_);
    const auto end = std::find(rest.begin(), rest.end(), '\n');
    if (end == rest.end()) fail_truncated(rest.size() + 1);
    const auto line = rest.first(static_cast<std::size_t>(end - rest.begin()));
    at_ += line.size() + 1;
    return line;
  }

  std::int64_t decimal(std::span<const std::uint8_t> line) const {
    const std::string_view text = as_text(line);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail("'{}' is not a number", printable(text));
    return value;
  }

  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> fact, Arguments&&... arguments) const {
    throw_data_error(path_, "{} at offset {}: damaged, or not a file of CIFAR; get it again",
                     fmt::format(fact, std::forward<Arguments>(arguments)...), opcode_at_);
  }

  [[noreturn]] void fail_truncated(std::uint64_t wanted) const {
    throw_data_error(path_,
                     "truncated or unexpected end at offset {}: {} bytes wanted, {} left; get the "
                     "file again",
                     at_, wanted, left());
  }

 private:
  const std::filesystem::path& path_;
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0, opcode_at_ = 0;
};

}  // namespace annulus
