// See interfaces.h.
#include "comm/interfaces.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>

#include "comm/name_filter.h"
#include "kernels/check.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

// The numeric address of an IP socket address; empty for any other kind.
std::string numeric_address(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address && address->sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address && address->sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (bytes == nullptr) return "";
  return inet_ntop(address->sa_family, bytes, text.data(), text.size());
}

bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

bool takes_family(const std::string& family, const std::string& address) {
  if (family == "AF_INET") return !is_ipv6(address);
  if (family == "AF_INET6") return is_ipv6(address) && address != "::1";  // as NCCL does
  return true;
}

std::vector<Interface> usable(const std::vector<Interface>& have, const std::string& family) {
  std::vector<Interface> usable;
  for (const Interface& interface : have) {
    Interface copy = interface;
    std::erase_if(copy.addresses, [&](const auto& a) { return !takes_family(family, a); });
    if (copy.up && !copy.addresses.empty()) usable.push_back(std::move(copy));
  }
  return usable;
}

std::vector<Interface> matching(const std::string& filter, const std::vector<Interface>& have) {
  const NameFilter names(filter);
  std::vector<Interface> matching;
  for (const Interface& interface : have)
    if (names.takes(interface.name)) matching.push_back(interface);
  return matching;
}

// "lo, eth0 (down), eth1 (no AF_INET6 address)".
std::string describe(const std::vector<Interface>& have, const std::string& family) {
  std::string text;
  for (const Interface& interface : have) {
    text += (text.empty() ? "" : ", ") + interface.name;
    if (!interface.up)
      text += " (down)";
    else if (usable({interface}, family).empty())
      text += family.empty() ? " (no address)" : " (no " + family + " address)";
  }
  return text;
}

const DeclaredEnvironment kDeclared("Network",
                                    {{"NCCL_SOCKET_IFNAME", "any that is up",
                                      "interfaces; ^ excludes, = is exact",
                                      "the network interfaces that reach the other hosts"},
                                     {"NCCL_SOCKET_FAMILY", "both", "AF_INET or AF_INET6",
                                      "IPv4 or IPv6, where an interface has both"}});

const char* environment_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::vector<Interface> network_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::vector<Interface> interfaces;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    auto found = std::ranges::find(interfaces, entry->ifa_name, &Interface::name);
    if (found == interfaces.end())
      found = interfaces.insert(found, {.name = entry->ifa_name,
                                        .up = (entry->ifa_flags & IFF_UP) != 0,
                                        .loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0});
    const std::string address = numeric_address(entry->ifa_addr);
    if (!address.empty()) found->addresses.push_back(address);
  }
  for (Interface& interface : interfaces)
    std::stable_partition(interface.addresses.begin(), interface.addresses.end(),
                          std::not_fn(is_ipv6));
  return interfaces;
}

std::vector<std::string> match_interfaces(const std::string& filter,
                                          const std::vector<std::string>& have) {
  const NameFilter names(filter);
  std::vector<std::string> matches;
  for (const std::string& name : have)
    if (names.takes(name)) matches.push_back(name);
  return matches;
}

std::vector<Interface> choose_interfaces(const std::string& filter, const std::string& family,
                                         const std::vector<Interface>& have) {
  const std::vector<Interface> candidates = usable(have, family);
  if (filter.size() > 1) {
    std::vector<Interface> matches = matching(filter, candidates);
    if (!matches.empty()) return matches;
    throw UserError(ExitCode::usage,
                    fmt::format("no usable network interface matches NCCL_SOCKET_IFNAME='{}' "
                                "(have {}); set it to the one that reaches the other hosts",
                                filter, describe(have, family)));
  }
  for (const char* kind : {"ib", "^docker,lo,virbr", "docker", "lo", "virbr"})
    if (std::vector<Interface> matches = matching(kind, candidates); !matches.empty())
      return matches;
  throw UserError(
      ExitCode::usage,
      fmt::format("no network interface is up with an address{} (have {}); bring one up",
                  family.empty() ? "" : " of NCCL_SOCKET_FAMILY=" + family,
                  describe(have, family)));
}

std::vector<Interface> socket_interfaces() {
  return choose_interfaces(environment_or_empty("NCCL_SOCKET_IFNAME"),
                           environment_or_empty("NCCL_SOCKET_FAMILY"), network_interfaces());
}

}  // namespace annulus
