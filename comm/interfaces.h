// The machine's network interfaces and NCCL's rules for choosing among them: NCCL_SOCKET_IFNAME
// (a comma-separated list of prefixes; "=name" is exact, a leading "^" excludes instead) and
// NCCL_SOCKET_FAMILY (AF_INET, AF_INET6). NCCL user guide, "Environment variables". Called by the
// CPU device's NCCL and by `annulus doctor`.
#pragma once

#include <string>
#include <vector>

namespace annulus {

struct Interface {
  std::string name;
  std::vector<std::string> addresses;  // numeric; IPv4 first
  bool up = false, loopback = false;
};

std::vector<Interface> network_interfaces();  // in the kernel's order

// The names among `have` that the filter takes, in the order of `have`. An empty filter takes all.
std::vector<std::string> match_interfaces(const std::string& filter,
                                          const std::vector<std::string>& have);

// What NCCL's sockets would use of `have`: interfaces that are up and have an address of the family
// ("AF_INET", "AF_INET6", anything else: both), with those addresses alone. With a filter (NCCL
// ignores one of a single character), those it matches; without, the first kind that is there:
// InfiniBand, any but docker, loopback and virbr, docker, loopback, virbr. Throws UserError (usage)
// where nothing remains: it names the settings and what there is.
std::vector<Interface> choose_interfaces(const std::string& filter, const std::string& family,
                                         const std::vector<Interface>& have);

// The same with the two variables and this machine's interfaces.
std::vector<Interface> socket_interfaces();

}  // namespace annulus
