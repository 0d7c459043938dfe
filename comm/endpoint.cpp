// See comm/endpoint.h.
#include "comm/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "kernels/check.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

[[noreturn]] void refuse(std::string_view source, std::string_view text, std::string_view why) {
  throw UserError(ExitCode::usage,
                  fmt::format("{} '{}' {}", source, printable(std::string(text)), why));
}

// ':' and '%' are those of IPv6 addresses and their zones.
bool in_host_names(char c) {
  const bool alphanumeric =
      (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alphanumeric || std::string_view("-._:%").find(c) != std::string_view::npos;
}

int parse_port(std::string_view source, std::string_view text, std::string_view digits) {
  int port = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, port);
  if (error != std::errc() || stop != end || port < 1 || port > 65535)
    refuse(source, text, "has no port from 1 to 65535 behind its colon");
  return port;
}

}  // namespace

std::string Endpoint::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Endpoint parse_endpoint(std::string_view source, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) refuse(source, text, "is no host:port");
  std::string_view host = text.substr(0, colon);
  const bool brackets = host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!brackets && host.find(':') != std::string_view::npos))
    refuse(source, text, "is no host:port; an IPv6 address needs brackets: [fd00::7]:29500");
  if (!std::ranges::all_of(host, in_host_names))
    refuse(source, text, "has a character that is in no host's name");
  return {std::string(host), parse_port(source, text, text.substr(colon + 1))};
}

std::vector<Endpoint> parse_endpoints(std::string_view source, std::string_view text) {
  std::vector<Endpoint> endpoints;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    endpoints.push_back(parse_endpoint(source, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return endpoints;
}

}  // namespace annulus
