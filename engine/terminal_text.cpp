// See terminal_text.h. UTF-8 is RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#include "engine/terminal_text.h"

#include <algorithm>
#include <cstdint>

namespace annulus {
namespace {

constexpr const char *kReplacement = "\xef\xbf\xbd", *kEllipsis = "\xe2\x80\xa6";

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// The bytes of the character that `text` begins with; 0 where it is none that can be shown.
std::size_t printable_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text[i])) return 0;
    code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  const bool control = code < 0xa0;
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool no_character = (code >= 0xd800 && code < 0xe000) || (code & 0xfffe) == 0xfffe;
  return control || overlong || no_character || code > 0x10ffff ? 0 : length;
}

}  // namespace

std::string terminal_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    result += length ? text.substr(0, length) : kReplacement;
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result;
}

std::string shortened(const std::string& text, std::size_t most) {
  if (character_count(text) <= most) return text;
  std::size_t end = 0;
  for (std::size_t characters = 0; characters < most; ++end) characters += !continues(text[end]);
  return text.substr(0, end - 1) + kEllipsis;
}

std::size_t character_count(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return !continues(c); }));
}

}  // namespace annulus
