// What a Python pickle holds, as plain values: None, numbers, strings, lists, tuples, dictionaries
// and numpy arrays. Nothing is ever executed: globals are names on a short list, and whatever else
// a pickle may ask for is refused by name. Formats: CPython's Lib/pickletools.py, protocols 0 to 5,
// and numpy's ndarray.__reduce__. Invariant: strings are views into the file, and a file makes at
// most kMostPickleValues values, so memory is bounded whatever the file says; nothing recurses.
// Called by cifar_pickle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

constexpr std::size_t kMostPickleValues = std::size_t{1} << 20;

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  text,  // str, bytes, bytearray: Python 2 and 3 do not agree which, so the reader does not care
  list,
  tuple,
  dict,
  dtype,
  array,
  global,
};

// How a text's bytes are written in the file.
enum class PickleWriting : std::uint8_t {
  plain,
  quoted,          // protocol 0: '…' with backslash escapes
  raw_unicode,     // protocol 0: \uXXXX stands for what a line cannot hold
  latin1_as_utf8,  // bytes that Python 3 wrote for Python 2, through _codecs.encode
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  PickleWriting writing = PickleWriting::plain;
  std::int64_t number = 0;                // boolean, integer; of others the reader's own index
  std::span<const std::uint8_t> written;  // of text
};

class Pickle {
 public:
  // Reads all of `bytes`, which must outlive this. `path` is for the words of errors alone. Throws
  // UserError(data) with the path, the offset and the opcode or global that is not allowed.
  Pickle(std::filesystem::path path, std::span<const std::uint8_t> bytes);

  const std::filesystem::path& path() const { return path_; }
  const PickleValue& root() const { return root_; }

  // Of a list or tuple its items; of a dict key, value, key, …; of a dtype its code ("u1") and, if
  // it was given, its byte order; of an array its shape, dtype, contents and whether columns come
  // first (boolean), or nothing if those were never given.
  std::span<const PickleValue> items(const PickleValue& value) const;

  // The value of a dict's key, bytes or str; null if there is none. As in Python the last one wins.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;

  // A text's bytes: a view into the file, or into `room` where they have to be unescaped.
  std::span<const std::uint8_t> bytes_of(const PickleValue& text,
                                         std::vector<std::uint8_t>& room) const;
  std::string string_of(const PickleValue& text) const;

 private:
  std::filesystem::path path_;
  PickleValue root_;
  std::vector<std::vector<PickleValue>> nodes_;  // what containers hold
};

const char* name_of(PickleKind kind);  // "a list"

}  // namespace annulus
