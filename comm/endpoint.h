// A host and a TCP port, as people and launchers write them: "host:port", "[fd00::7]:port".
// Invariant: what parse_endpoint returns has a host and a port from 1 to 65535. Called by
// comm/identity, comm/tf_config, comm/topology and engine/cli.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace annulus {

struct Endpoint {
  std::string host;  // a name or a numeric address, without brackets
  int port = 0;

  std::string text() const;  // with brackets around an IPv6 address
  bool operator==(const Endpoint& other) const = default;
};

// `source` names where the text comes from ("--rendezvous", "TF_CONFIG") for the UserError (usage).
Endpoint parse_endpoint(std::string_view source, std::string_view text);

// "host:port,host:port": in order; an empty item is an error.
std::vector<Endpoint> parse_endpoints(std::string_view source, std::string_view text);

}  // namespace annulus
