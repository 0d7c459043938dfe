// Where another worker is, for comm/socket's connect_to: in a Kubernetes cluster by absolute names
// over c-ares (no search domain's wildcard answers, and no deadline is missed), elsewhere as the
// system has it. Called by comm/control and comm/discovery.
#pragma once

#include <string>
#include <vector>

#include "comm/resolv_conf.h"
#include "comm/resolver.h"

namespace annulus {

bool is_numeric_address(const std::string& host);
bool is_loopback(const std::string& host);  // by its text: "localhost", 127.0.0.0/8, ::1

// Numeric addresses in the order to try: of a numeric host itself, of a name from /etc/hosts, in a
// cluster from its DNS, else from getaddrinfo. Throws NetError with DNS's words where there are
// none, UserError (usage) for a name that DNS cannot hold.
std::vector<std::string> addresses_of(const std::string& host, Deadline deadline);

// The same for a name in a cluster, by the given resolver.
std::vector<std::string> cluster_addresses(Resolver& resolver, const ClusterNames& cluster,
                                           const std::string& host, Deadline deadline);

}  // namespace annulus
