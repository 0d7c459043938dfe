// resolv.conf, the cluster's names in it, and the absolute names that a host means there. The host
// is the last line of the input.
#include "comm/resolv_conf.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ResolvConf conf = parse_resolv_conf(text);
  for (const std::string& domain : conf.search) {
    fuzz::require(!domain.empty() && domain.back() != '.');
    fuzz::require(domain.find_first_of(" \t\r\n") == std::string::npos);
  }
  for (const std::string& server : conf.nameservers) fuzz::require(!server.empty());
  const auto cluster = conf.cluster();
  if (!cluster) return 0;
  fuzz::require(!cluster->kubernetes_namespace.empty() && !cluster->domain.empty());
  const std::string host(text.substr(text.rfind('\n') + 1));
  const std::vector<std::string> names = absolute_names(host, *cluster);
  fuzz::require(!names.empty());
  for (const std::string& name : names) fuzz::require(!name.ends_with('.'));
  return 0;
}
