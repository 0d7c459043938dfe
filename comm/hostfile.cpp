// See comm/hostfile.h.
#include "comm/hostfile.h"

#include <algorithm>
#include <optional>

#include "comm/identity_variables.h"

namespace annulus {
namespace {

using identity::refuse;

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<int> slots_of(std::string_view digits) {
  int slots = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, slots);
  if (error != std::errc() || stop != end || slots < 1) return std::nullopt;
  return slots;
}

// "slots=8", and "max_slots=8" and its kind, which say nothing of how many to start.
std::optional<int> slots_among(std::string_view words) {
  std::optional<int> slots = 1;
  for (words = trimmed(words); !words.empty() && slots;) {
    const std::size_t end = std::min(words.find_first_of(kBlanks), words.size());
    const std::string_view word = words.substr(0, end);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    if (word.substr(0, equals) == "slots") slots = slots_of(word.substr(equals + 1));
    words = trimmed(words.substr(end));
  }
  return slots;
}

// The colon of "host:8"; an IPv6 address has several.
std::size_t colon_of(std::string_view host) {
  const std::size_t colon = host.find(':');
  return host.find(':', std::min(colon, host.size() - 1) + 1) == std::string_view::npos
             ? colon
             : std::string_view::npos;
}

HostSlots parse_line(const std::string& source, int number, std::string_view line) {
  std::string_view host = line.substr(0, line.find_first_of(kBlanks));
  const std::string_view words = line.substr(host.size());
  std::optional<int> slots;
  const std::size_t colon = colon_of(host);
  if (colon == std::string_view::npos) {
    slots = slots_among(words);
  } else if (trimmed(words).empty()) {
    slots = slots_of(host.substr(colon + 1));
    host = host.substr(0, colon);
  }
  if (!slots || host.empty())
    refuse("{} line {}: '{}' is neither 'host slots=N' nor 'host:N'", source, number,
           printable(line));
  return {std::string(host), *slots};
}

}  // namespace

std::vector<HostSlots> parse_hostfile(const std::string& source, std::string_view text) {
  std::vector<HostSlots> hosts;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view content = trimmed(line.substr(0, line.find('#')));
    if (!content.empty()) hosts.push_back(parse_line(source, number, content));
  }
  return hosts;
}

}  // namespace annulus
