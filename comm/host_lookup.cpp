// See comm/host_lookup.h.
#include "comm/host_lookup.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>

namespace annulus {
namespace {

// A look-up is tried again by whoever connects; one that hears nothing must end before that.
constexpr std::chrono::milliseconds longest_lookup{5'000};

}  // namespace

bool is_numeric_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), address.data()) == 1;
}

bool is_loopback(const std::string& host) {
  const bool numeric = is_numeric_address(host);
  return strcasecmp(host.c_str(), "localhost") == 0 || host.starts_with("localhost.") ||
         host == "ip6-localhost" || host == "::1" ||
         (numeric && (host.starts_with("127.") || host.starts_with("::ffff:127.")));
}

std::vector<std::string> cluster_addresses(Resolver& resolver, const ClusterNames& cluster,
                                           const std::string& host, Deadline deadline) {
  if (std::vector<std::string> local = resolver.in_hosts_file(host); !local.empty()) return local;
  const std::vector<std::string> names = absolute_names(host, cluster);
  std::vector<DnsAnswer> answers = resolver.ask(names, std::min(deadline, after(longest_lookup)));
  for (DnsAnswer& answer : answers)
    if (answer.found()) return std::move(answer.addresses);
  throw NetError(NetError::Kind::system,
                 fmt::format("{}: {}", names.front(), answers.front().words()));
}

std::vector<std::string> addresses_of(const std::string& host, Deadline deadline) {
  if (is_numeric_address(host)) return {host};
  const std::optional<ClusterNames> cluster = read_resolv_conf().cluster();
  if (!cluster) return system_addresses(host, deadline);
  Resolver resolver;
  return cluster_addresses(resolver, *cluster, host, deadline);
}

}  // namespace annulus
