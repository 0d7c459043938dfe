// The resolver against the scripted server: the ways to fail told apart, both families, absolute
// names only, many names at once, several servers, and deadlines that hold.
#include "comm/resolver.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <system_error>

#include "kernels/check.h"
#include "tests/dns/dns_responder.h"

namespace annulus {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using Addresses = std::vector<std::string>;
using Status = DnsAnswer::Status;
using test::always;
using test::DnsResponder;
using test::DnsStep;
using test::DnsZone;
using test::published;
using Code = DnsStep::Code;

constexpr auto plenty = 30s;

DnsAnswer ask_one(const DnsResponder& dns, const std::string& name,
                  std::chrono::milliseconds wait = plenty) {
  Resolver resolver(dns.server());
  return resolver.ask({name}, after(wait)).front();
}

std::string refusal(const std::string& name) {
  Resolver resolver("127.0.0.1:1");
  const auto start = steady_clock::now();
  try {
    resolver.ask({"fine.example", name}, after(plenty));
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_LT(steady_clock::now() - start, 1s);
    return error.what();
  }
  return "";
}

DnsStep dual(const std::string& ipv4, const std::string& ipv6) {
  DnsStep step;
  step.ipv4 = {ipv4};
  step.ipv6 = {ipv6};
  return step;
}

TEST(Resolver, TellsTheWaysToFailApart) {
  const DnsResponder dns({{"there.example", published("10.0.0.1")},
                          {"nodata.example", always(Code::no_data)},
                          {"servfail.example", always(Code::servfail)},
                          {"refused.example", always(Code::refused)},
                          {"drop.example", always(Code::drop)}});
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"there.example", "found"},       {"nodata.example", "no address"},
      {"servfail.example", "SERVFAIL"}, {"refused.example", "REFUSED"},
      {"drop.example", "no answer"},    {"missing.example", "NXDOMAIN"}};
  std::vector<std::string> names;
  for (const auto& entry : expected) names.push_back(entry.first);
  Resolver resolver(dns.server());
  const std::vector<DnsAnswer> answers = resolver.ask(names, after(2s));
  ASSERT_EQ(answers.size(), expected.size());
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i].words(), expected[i].second) << names[i];
  EXPECT_EQ(resolver.questions(), names.size());
}

TEST(Resolver, GivesAddressesOfBothFamiliesIpv4First) {
  DnsStep only_ipv6;
  only_ipv6.ipv6 = {"fd00::8"};
  const DnsResponder dns(
      {{"both.example", {dual("10.0.0.1", "fd00::7")}}, {"six.example", {only_ipv6}}});
  EXPECT_EQ(ask_one(dns, "both.example").addresses, Addresses({"10.0.0.1", "fd00::7"}));
  EXPECT_EQ(ask_one(dns, "six.example").addresses, Addresses({"fd00::8"}));
}

TEST(Resolver, AsksAServerOverIpv6) {
  try {
    const DnsResponder dns({{"there.example", published("10.0.0.1")}}, "::1");
    EXPECT_TRUE(ask_one(dns, "there.example").found());
  } catch (const std::system_error&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
}

TEST(Resolver, FollowsAliases) {
  DnsStep step = dual("10.0.0.1", "fd00::7");
  step.alias = "target.example";
  const DnsResponder dns({{"alias.example", {step}}});
  EXPECT_EQ(ask_one(dns, "alias.example").addresses, Addresses({"10.0.0.1", "fd00::7"}));
}

TEST(Resolver, AsksAbsoluteNamesOnly) {
  const DnsResponder dns({{"*.corp.example", published("203.0.113.9")}});
  EXPECT_EQ(ask_one(dns, "cifar-node-0-2.cifar.ml.svc.cluster.local").status, Status::not_found);
  EXPECT_EQ(ask_one(dns, "cifar").status, Status::not_found);
  EXPECT_EQ(dns.questions(), 2);
  EXPECT_TRUE(ask_one(dns, "any.corp.example.").found()) << "with its trailing dot";
}

TEST(Resolver, AFamilyThatIsNeverAnsweredIsNotWaitedFor) {
  DnsStep ipv4;
  ipv4.ipv4 = {"10.0.0.1"};
  DnsStep drop;
  drop.code = Code::drop;
  DnsStep one_of_two;
  one_of_two.cycle.assign(20, drop);
  one_of_two.cycle[0] = ipv4;  // c-ares asks A, then AAAA
  const DnsResponder dns({{"half.example", {one_of_two}}});
  const auto start = steady_clock::now();
  EXPECT_EQ(ask_one(dns, "half.example").addresses, Addresses({"10.0.0.1"}));
  EXPECT_LT(steady_clock::now() - start, plenty / 3);
}

TEST(Resolver, DeadlinesHold) {
  const DnsResponder dns({{"drop.example", always(Code::drop)}});
  const auto start = steady_clock::now();
  EXPECT_EQ(ask_one(dns, "drop.example", 400ms).status, Status::timeout);
  EXPECT_GE(steady_clock::now() - start, 400ms);
  EXPECT_LT(steady_clock::now() - start, 1200ms);
}

TEST(Resolver, ALostDatagramIsSentAgain) {
  DnsStep drop;
  drop.code = Code::drop;
  DnsStep there;
  there.ipv4 = {"10.0.0.1"};
  DnsStep flaky;
  flaky.cycle = {drop, drop, there, there};
  const DnsResponder dns({{"flaky.example", {flaky}}});
  EXPECT_TRUE(ask_one(dns, "flaky.example").found());
}

TEST(Resolver, ManyHundredNamesAtOnce) {
  DnsZone zone;
  std::vector<std::string> names;
  for (int i = 0; i < 1500; ++i) {
    names.push_back(fmt::format("w-{}.example", i));
    if (i % 3 != 0) zone[names.back()] = published(fmt::format("10.0.{}.{}", i / 250, i % 250));
  }
  const DnsResponder dns(zone);
  Resolver resolver(dns.server());
  const std::vector<DnsAnswer> answers = resolver.ask(names, after(plenty));
  for (int i = 0; i < 1500; ++i) {
    const DnsAnswer& answer = answers[static_cast<std::size_t>(i)];
    if (i % 3 == 0)
      EXPECT_EQ(answer.status, Status::not_found) << i;
    else
      EXPECT_EQ(answer.addresses, Addresses({fmt::format("10.0.{}.{}", i / 250, i % 250)}));
  }
}

TEST(Resolver, ASecondServerAnswersForOneThatFailsOrIsSilent) {
  const DnsResponder good({{"a.example", published("10.0.0.1")}});
  for (const Code code : {Code::servfail, Code::refused, Code::drop}) {
    const DnsResponder bad({{"a.example", always(code)}});
    Resolver resolver(bad.server() + "," + good.server());
    EXPECT_TRUE(resolver.ask({"a.example"}, after(plenty)).front().found());
    // A silent one is not waited for a second time.
    const int asked = bad.questions("a.example");
    EXPECT_TRUE(resolver.ask({"a.example"}, after(plenty)).front().found());
    EXPECT_EQ(bad.questions("a.example") > asked, code != Code::drop);
  }
}

TEST(Resolver, AServerThatIsNotThereIsNoAnswer) {
  Resolver resolver("127.0.0.1:1");
  EXPECT_EQ(resolver.ask({"a.example"}, after(300ms)).front().status, Status::timeout);
  EXPECT_THROW(Resolver("no address"), UserError);
  EXPECT_NO_THROW(Resolver("[::1]:53,10.96.0.10,10.96.0.10:53,fd00::a"));
}

TEST(Resolver, RefusesNamesThatDnsCannotHold) {
  const std::string job(60, 'j');
  const std::string words = refusal(job + "-node-0-0." + job + ".ml.svc.cluster.local");
  EXPECT_NE(words.find("label '" + job + "-node-0-0' has 69 bytes, DNS allows 63"),
            std::string::npos)
      << words;
  std::string name = "a";
  while (name.size() < 254) name += ".a";
  EXPECT_NE(refusal(name).find("has 255 bytes"), std::string::npos);
  for (const char* bad : {"", ".", "a..b", ".a", "a b", "w\xc3\xb6rker", "a\\046b", "10.0.0.7:53"})
    EXPECT_NE(refusal(bad), "") << bad;
  EXPECT_EQ(refusal("a\033[31m").find('\033'), std::string::npos)
      << "a terminal must not act on it";
  EXPECT_EQ(refusal(std::string(63, 'a') + ".Sub_domain-1.example."), "");
}

TEST(Resolver, ReadsTheHostsFile) {
  const Resolver resolver("127.0.0.1:1");
  const Addresses addresses = resolver.in_hosts_file("localhost");
  EXPECT_EQ(std::ranges::count(addresses, "127.0.0.1"), 1);
  EXPECT_TRUE(resolver.in_hosts_file("no-such-host.invalid").empty());
}

}  // namespace
}  // namespace annulus
