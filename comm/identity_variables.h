// What the detectors of comm/identity read with: variables as texts and numbers, and one way to
// refuse. Invariant: an empty variable counts as unset, a number is digits alone. Called by
// comm/identity*.cpp.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "comm/identity.h"
#include "kernels/check.h"
#include "kernels/printable.h"

namespace annulus::identity {

template <typename... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw UserError(ExitCode::usage, fmt::format(format, std::forward<Arguments>(arguments)...));
}

// `name` is the flag or variable that the text came from.
inline int parse_number(const std::string& name, const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0)
    refuse("{} '{}' is no whole number from 0 up: correct or unset it", name, printable(text));
  return value;
}

class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  std::string text(const char* name) const {
    const char* value = environment_(name);
    return value ? value : "";
  }
  bool given(const char* name) const { return !text(name).empty(); }
  std::optional<int> number(const char* name) const {
    const std::string value = text(name);
    return value.empty() ? std::nullopt : std::optional(parse_number(name, value));
  }

 private:
  const Environment& environment_;
};

// host and port of two variables; nothing where neither is set.
inline std::optional<Endpoint> endpoint_of(const Variables& variables, const char* host_name,
                                           const char* port_name) {
  const std::string host = variables.text(host_name);
  const std::optional<int> port = variables.number(port_name);
  if (host.empty() && !port) return std::nullopt;
  if (host.empty() || !port)
    refuse("{} missing: set {} and {}, both or neither", host.empty() ? host_name : port_name,
           host_name, port_name);
  if (*port < 1 || *port > 65535) refuse("{} '{}': a port lies in 1 to 65535", port_name, *port);
  return Endpoint{host, *port};
}

}  // namespace annulus::identity
