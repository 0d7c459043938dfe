// Which interface NCCL's sockets, and with them the bootstrap of every transport, would use.
#include <fmt/format.h>

#include "engine/doctor/checks.h"

namespace annulus::doctor {
namespace {

std::string value_of(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value ? value : "";
}

// "eth0 (10.0.0.7, fd00::7), eth1 (10.1.0.7)".
std::string describe(const std::vector<Interface>& interfaces) {
  std::string text;
  for (const Interface& interface : interfaces) {
    std::string addresses;
    for (const std::string& address : interface.addresses)
      addresses += (addresses.empty() ? "" : ", ") + address;
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", interface.name, addresses);
  }
  return text;
}

Finding unknown_family(const std::string& family) {
  return {.state = State::warning,
          .name = "NCCL_SOCKET_FAMILY",
          .fact = fmt::format("'{}' is ignored", family),
          .fix = "set it to AF_INET or AF_INET6"};
}

Finding chosen_interfaces(const std::vector<Interface>& chosen, const std::string& filter) {
  Finding finding{.name = filter.empty() ? "interfaces" : "NCCL_SOCKET_IFNAME",
                  .fact = filter.empty() ? "NCCL would use " + describe(chosen)
                                         : fmt::format("'{}' takes {}", filter, describe(chosen))};
  if (chosen.front().loopback) {
    finding.state = State::warning;
    finding.fact += ": loopback reaches this host only";
    finding.fix = "for several hosts set NCCL_SOCKET_IFNAME to the interface between them";
  }
  return finding;
}

// The house's messages put the fix behind the last semicolon.
Finding no_interface(const UserError& error) {
  const std::string message = error.what();
  const std::size_t fix = message.rfind("; ");
  return {.state = State::error,
          .name = "interfaces",
          .fact = message.substr(0, fix),
          .fix = fix == std::string::npos ? "" : message.substr(fix + 2),
          .code = error.code()};
}

}  // namespace

std::vector<Finding> check_network(const std::vector<Interface>& have,
                                   const Environment& environment) {
  std::vector<Finding> findings;
  const std::string filter = value_of(environment, "NCCL_SOCKET_IFNAME");
  const std::string family = value_of(environment, "NCCL_SOCKET_FAMILY");
  if (!family.empty() && family != "AF_INET" && family != "AF_INET6")
    findings.push_back(unknown_family(family));
  try {
    findings.push_back(chosen_interfaces(choose_interfaces(filter, family, have), filter));
  } catch (const UserError& error) {
    findings.push_back(no_interface(error));
  }
  return findings;
}

}  // namespace annulus::doctor
