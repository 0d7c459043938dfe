// Which interfaces NCCL's rules take: the public cases (ifname.jsonl), NCCL's own order without a
// filter, the address families, and this machine's loopback.
#include "comm/interfaces.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "kernels/check.h"

namespace annulus {
namespace {

using Names = std::vector<std::string>;

const std::vector<Interface> kHost = {
    {.name = "lo", .addresses = {"127.0.0.1", "::1"}, .up = true, .loopback = true},
    {.name = "eth0", .addresses = {"10.0.0.7", "fd00::7"}, .up = true},
    {.name = "eth1", .addresses = {"10.0.1.7"}, .up = false},
    {.name = "docker0", .addresses = {"172.17.0.1"}, .up = true},
    {.name = "wire6", .addresses = {"fd00:1::7"}, .up = true},
    {.name = "bare", .addresses = {}, .up = true},
};

Names chosen(const std::string& filter, const std::string& family = "",
             const std::vector<Interface>& have = kHost) {
  Names names;
  for (const Interface& interface : choose_interfaces(filter, family, have))
    names.push_back(interface.name);
  return names;
}

std::string refusal(const std::string& filter, const std::string& family = "",
                    const std::vector<Interface>& have = kHost) {
  try {
    choose_interfaces(filter, family, have);
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(MatchInterfaces, AgreesWithThePublicCases) {
  const char* shared = std::getenv("ANNULUS_SHARED");
  if (shared == nullptr) {
    std::cout << "skipped: no ../shared\n";
    return;
  }
  std::ifstream cases(std::string(shared) + "/cases/files/handout/ifname.jsonl");
  int rows = 0;
  for (std::string line; std::getline(cases, line); ++rows) {
    const auto row = nlohmann::json::parse(line);
    EXPECT_EQ(match_interfaces(row["NCCL_SOCKET_IFNAME"], row["have"]), row["pick"].get<Names>())
        << line;
  }
  EXPECT_EQ(rows, 5);
}

TEST(MatchInterfaces, PrefixExactAndExclusion) {
  const Names have = {"lo", "bond0", "bond0.2093", "eth0"};
  EXPECT_EQ(match_interfaces("", have), have);
  EXPECT_EQ(match_interfaces("bond0", have), Names({"bond0", "bond0.2093"}));
  EXPECT_EQ(match_interfaces("=bond0,eth0", have), Names({"bond0", "eth0"}));
  EXPECT_EQ(match_interfaces("^=bond0", have), Names({"lo", "bond0.2093", "eth0"}));
  EXPECT_EQ(match_interfaces("^bond,lo", have), Names({"eth0"}));
  EXPECT_EQ(match_interfaces("eth0,", have), Names({"eth0"}));
  EXPECT_EQ(match_interfaces("^", have), Names{});
}

TEST(ChooseInterfaces, AFilterTakesOnlyInterfacesThatCanBeUsed) {
  EXPECT_EQ(chosen("eth"), Names({"eth0"}));
  EXPECT_EQ(chosen("=lo"), Names({"lo"}));
  EXPECT_EQ(chosen("e"), Names({"eth0", "wire6"})) << "NCCL ignores a single character";
}

TEST(ChooseInterfaces, WithoutAFilterTheFirstKindThatIsThere) {
  EXPECT_EQ(chosen(""), Names({"eth0", "wire6"}));
  std::vector<Interface> have = kHost;
  have.push_back({.name = "ib0", .addresses = {"10.1.0.7"}, .up = true});
  EXPECT_EQ(chosen("", "", have), Names({"ib0"}));
  EXPECT_EQ(chosen("", "", {kHost[0], kHost[3]}), Names({"docker0"}));
  EXPECT_EQ(chosen("", "", {kHost[0], kHost[2]}), Names({"lo"}));
}

TEST(ChooseInterfaces, TheFamilyDecidesAboutAddresses) {
  EXPECT_EQ(chosen("", "AF_INET"), Names({"eth0"}));
  EXPECT_EQ(chosen("", "AF_INET6"), Names({"eth0", "wire6"}));
  EXPECT_EQ(choose_interfaces("eth0", "AF_INET6", kHost)[0].addresses, Names({"fd00::7"}));
  EXPECT_EQ(choose_interfaces("eth0", "", kHost)[0].addresses, Names({"10.0.0.7", "fd00::7"}));
}

TEST(ChooseInterfaces, NothingLeftIsAnErrorThatListsWhatThereIs) {
  EXPECT_EQ(refusal("net"),
            "no usable network interface matches NCCL_SOCKET_IFNAME='net' (have lo, eth0, eth1 "
            "(down), docker0, wire6, bare (no address)); set it to the one that reaches the other "
            "hosts");
  EXPECT_NE(refusal("eth1").find("eth1 (down)"), std::string::npos);
  EXPECT_NE(refusal("lo", "AF_INET6").find("lo (no AF_INET6 address)"), std::string::npos);
  EXPECT_NE(refusal("", "AF_INET6", {kHost[0]}).find("NCCL_SOCKET_FAMILY=AF_INET6"),
            std::string::npos);
}

TEST(SocketInterfaces, ReadsTheVariablesAndTheMachine) {
  setenv("NCCL_SOCKET_IFNAME", "=lo", 1);
  setenv("NCCL_SOCKET_FAMILY", "AF_INET", 1);
  const std::vector<Interface> interfaces = socket_interfaces();
  ASSERT_EQ(interfaces.size(), 1u);
  EXPECT_TRUE(interfaces[0].loopback);
  EXPECT_EQ(interfaces[0].addresses.front(), "127.0.0.1");
  setenv("NCCL_SOCKET_IFNAME", "=no-such-interface", 1);
  EXPECT_THROW(socket_interfaces(), UserError);
  unsetenv("NCCL_SOCKET_IFNAME");
  unsetenv("NCCL_SOCKET_FAMILY");
}

}  // namespace
}  // namespace annulus
