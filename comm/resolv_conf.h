// What /etc/resolv.conf says about the cluster: kubelet writes the search list
// "{namespace}.svc.{domain} svc.{domain} {domain} …" (resolv.conf(5); Kubernetes, "DNS for Services
// and Pods"). Called by comm/discovery, comm/host_lookup and engine/cli.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

struct ClusterNames {
  std::string kubernetes_namespace, domain;  // "ml", "cluster.local"
};

struct ResolvConf {
  std::vector<std::string> search;  // lower case, without trailing dots
  std::vector<std::string> nameservers;

  // From the first search entry of the form {namespace}.svc.{domain}; nothing outside a cluster.
  std::optional<ClusterNames> cluster() const;
};

ResolvConf parse_resolv_conf(std::string_view text);
ResolvConf read_resolv_conf(const std::string& path = "/etc/resolv.conf");  // empty without a file

// The absolute names that a host may mean in this cluster, lower case and without a trailing dot,
// in the order to ask: the pod's own {namespace}.svc.{domain} behind it, svc.{domain} behind a name
// with a namespace, {domain} behind a ".svc", then the name as it stands.
std::vector<std::string> absolute_names(const std::string& host, const ClusterNames& cluster);

}  // namespace annulus
