// What the tests of discovery share: pods of a job "tfd" in namespace "ml", their zone, options
// with short times, and many pods that discover each other as threads.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/control.h"
#include "comm/discovery.h"
#include "tests/dns/dns_responder.h"

namespace annulus::test {

using namespace std::chrono_literals;

inline std::string pod_host(int index, const std::string& domain = "cluster.local") {
  return fmt::format("tfd-node-0-{}.tfd.ml.svc.{}", index, domain);
}

inline DnsZone pods_published(int count) {
  DnsZone zone;
  for (int i = 0; i < count; ++i)
    zone[pod_host(i)] = published(fmt::format("10.244.{}.{}", i / 250, i % 250));
  return zone;
}

inline NodeIdentity pod(int index, std::optional<int> nodes) {
  NodeIdentity node;
  node.index = index;
  node.nodes = nodes;
  node.task_index = index;
  node.source = "the host name";
  node.pod = PodName{.job = "tfd", .index = index};
  return node;
}

// A second stands for ten.
inline DiscoveryOptions short_times(const std::string& dns_servers) {
  DiscoveryOptions options;
  options.timeout = 30s;
  options.settle = 500ms;
  options.dns_servers = dns_servers;
  options.cluster = ClusterNames{"ml", "cluster.local"};
  return options;
}

inline std::vector<std::string> texts(const std::vector<Endpoint>& endpoints) {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : endpoints) texts.push_back(endpoint.text());
  return texts;
}

inline std::vector<std::string> pods_expected(int count,
                                              const std::string& domain = "cluster.local") {
  std::vector<std::string> expected;
  for (int i = 0; i < count; ++i) expected.push_back(pod_host(i, domain) + ":12345");
  return expected;
}

// The words of the error that discover() ends with, which must have this code.
inline std::string discovery_error(const NodeIdentity& node, const DiscoveryOptions& options,
                                   ExitCode code) {
  try {
    discover(node, options, {});
    ADD_FAILURE() << "no error";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace annulus::test
