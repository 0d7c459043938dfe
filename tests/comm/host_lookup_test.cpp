// Where another worker is, in a cluster: names completed and asked absolutely, every address
// walked, looked up anew at every try, and no descriptor left behind.
#include "comm/host_lookup.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <thread>

#include "kernels/check.h"
#include "tests/dns/dns_responder.h"

namespace annulus {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::DnsResponder;
using test::DnsStep;
using test::published;

constexpr auto plenty = 30s;
const ClusterNames kCluster{"ml", "cluster.local"};

HostLookup by(const DnsResponder& dns) {
  return [server = dns.server()](const std::string& host, Deadline deadline) {
    Resolver resolver(server);
    return cluster_addresses(resolver, kCluster, host, deadline);
  };
}

DnsStep step(std::vector<std::string> ipv4, std::vector<std::string> ipv6 = {}) {
  DnsStep step;
  step.ipv4 = std::move(ipv4);
  step.ipv6 = std::move(ipv6);
  return step;
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(HostLookup, CompletesNamesInTheCluster) {
  const DnsResponder dns({{"w-0.ml.svc.cluster.local", published("10.0.0.1")},
                          {"w-0.other.svc.cluster.local", published("10.0.0.2")},
                          {"*.corp.example", published("203.0.113.9")}});
  const HostLookup lookup = by(dns);
  EXPECT_EQ(lookup("w-0", after(plenty)).front(), "10.0.0.1");
  EXPECT_EQ(lookup("w-0.other.svc", after(plenty)).front(), "10.0.0.2");
  EXPECT_EQ(lookup("w-0.other", after(plenty)).front(), "10.0.0.2");
  try {
    lookup("w-1", after(plenty));
    ADD_FAILURE() << "found";
  } catch (const NetError& error) {
    EXPECT_STREQ(error.what(), "w-1.ml.svc.cluster.local: NXDOMAIN");
  }
}

TEST(HostLookup, NumericAddressesAndLocalNamesNeedNoServer) {
  EXPECT_EQ(addresses_of("10.0.0.7", after(plenty)), std::vector<std::string>{"10.0.0.7"});
  EXPECT_EQ(addresses_of("fd00::7", after(plenty)), std::vector<std::string>{"fd00::7"});
  EXPECT_FALSE(addresses_of("localhost", after(plenty)).empty());
  const DnsResponder dns({});
  EXPECT_FALSE(by(dns)("localhost", after(plenty)).empty());
  EXPECT_EQ(dns.questions(), 0);
}

// A listener whose queue is full answers no SYN, as a host that is gone.
class DeadAddress {
 public:
  explicit DeadAddress(std::uint16_t port) : listener_(listen_on("127.0.0.2", port, 0)) {
    try {
      for (;;) queue_.push_back(connect_to("127.0.0.2", port, after(200ms)));
    } catch (const NetError&) {
    }
  }

 private:
  Socket listener_;
  std::vector<Socket> queue_;
};

TEST(HostLookup, ADeadAddressLeavesTimeForTheNext) {
  const Socket listener = listen_on("127.0.0.1", 0);
  const DeadAddress dead(listener.local_port());
  const DnsResponder dns({{"w.ml.svc.cluster.local", {step({"127.0.0.2", "127.0.0.1"})}}});
  const auto start = steady_clock::now();
  EXPECT_TRUE(connect_to("w", listener.local_port(), after(plenty), by(dns)));
  EXPECT_GE(steady_clock::now() - start, 500ms) << "the first address was not dead";
  EXPECT_LT(steady_clock::now() - start, 3s);
}

TEST(HostLookup, TheListOfAddressesIsWalkedToItsEnd) {
  const Socket listener = listen_on("127.0.0.1", 0);
  const DnsResponder dns({{"w.ml.svc.cluster.local", {step({"127.0.0.2", "127.0.0.1"})}}});
  EXPECT_TRUE(connect_to("w", listener.local_port(), after(plenty), by(dns)));
}

TEST(HostLookup, AStaleRecordIsLookedUpAgain) {
  const Socket listener = listen_on("127.0.0.1", 0);
  DnsResponder dns({{"w.ml.svc.cluster.local", {step({"127.0.0.2"})}}});
  std::thread renewal([&] {
    std::this_thread::sleep_for(300ms);
    dns.publish("w.ml.svc.cluster.local", {step({"127.0.0.1"})});
  });
  EXPECT_TRUE(connect_to("w", listener.local_port(), after(plenty), by(dns)));
  renewal.join();
}

// 100::/64 is the discard prefix: nobody answers, not even with a refusal.
TEST(HostLookup, TriesThatFailLeaveNoDescriptorBehind) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(open_descriptors()) + 24;
  setrlimit(RLIMIT_NOFILE, &few);
  const std::uint16_t nobody = listen_on("127.0.0.1", 0).local_port();
  const DnsResponder dns({{"w.ml.svc.cluster.local", {step({"127.0.0.1"}, {"100::1"})}}});
  const HostLookup lookup = by(dns);
  const std::ptrdiff_t descriptors = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    try {
      connect_to("w", nobody, after(5ms), lookup);
      ADD_FAILURE() << "nobody listens";
    } catch (const NetError& error) {
      EXPECT_EQ(std::string(error.what()).find("Too many"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(HostLookup, ANameThatDnsCannotHoldIsFatalAtOnce) {
  const DnsResponder dns({});
  const auto start = steady_clock::now();
  EXPECT_THROW(connect_to(std::string(70, 'a'), 1, after(plenty), by(dns)), UserError);
  EXPECT_LT(steady_clock::now() - start, 3s);
}

TEST(HostText, NumericAndLoopback) {
  EXPECT_TRUE(is_numeric_address("fe80::1%eth0"));
  EXPECT_FALSE(is_numeric_address("10.0.0"));
  for (const char* host : {"localhost", "localhost.localdomain", "127.0.0.1", "127.1.2.3", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"127.example", "10.0.0.7", "localhostess", "fd00::1"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

}  // namespace
}  // namespace annulus
