// The port that rank 0 listens on: held by another, left by a life that was killed, in the range of
// outgoing connections; IPv4 and IPv6. The cases B06, B07, B08.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "comm/control.h"
#include "comm/control_listener.h"
#include "tests/comm/control_ranks.h"
#include "tests/comm/raw_rank.h"

namespace annulus {
namespace {

using namespace test;

bool has_ipv6() {
  try {
    listen_on("::1", 0);
    return true;
  } catch (const NetError&) {
    return false;
  }
}

// B07: by a program that says nothing, and by one that answers something else.
TEST(Ports, OneInUseIsSaidAtOnce) {
  for (const bool answers : {false, true}) {
    const Socket holder = listen_on("127.0.0.1", 0);
    ControlOptions options = quick_options();
    options.port = holder.local_port();
    std::thread program([&] {
      if (!answers) return;
      const Socket client = holder.accept(after(20s));
      client.send("220 ready\r\n", 11, after(20s));
    });
    const auto began = std::chrono::steady_clock::now();
    const Failure failure = failure_of([&] { ControlChannel::join(identity_of(0, 2), options); });
    EXPECT_LT(std::chrono::steady_clock::now() - began, 6s);  // 2, and room
    program.join();
    EXPECT_EQ(failure.code, ExitCode::usage);
    EXPECT_TRUE(says(failure.message, "port " + std::to_string(options.port) + " in use"));
    EXPECT_TRUE(says(failure.message, "TF_WORKER_PORT or --rendezvous"));
  }
}

// Not even where the other holds it on one address alone: peers would reach now the one, now the
// other.
TEST(Ports, OneInUseOnOneAddressIsInUse) {
  const Socket holder = listen_on("127.0.0.1", 0);
  try {
    listen_on("", holder.local_port());
    ADD_FAILURE() << "two listeners share a port";
  } catch (const NetError& error) {
    EXPECT_EQ(error.kind(), NetError::Kind::in_use);
  }
}

// B06: rank 0 ends first, so that its connections linger in the kernel.
TEST(Ports, OneIsTakenAgainAtOnce) {
  ControlOptions options = quick_options();
  { options.port = listen_on("127.0.0.1", 0).local_port(); }
  for (int life = 0; life < 3; ++life) {
    std::thread rank_1([&] {
      const auto channel = ControlChannel::join(identity_of(1, 2), options);
      const Loss loss = await_loss(*channel);
      EXPECT_EQ(loss.rank, 0);
      channel->leave(loss.code, loss.message);
    });
    ControlChannel::join(identity_of(0, 2), options)->leave(ExitCode::internal, "the test's end");
    rank_1.join();
  }
}

// The kernel keeps a killed rank 0's ends of connections for a minute.
TEST(Ports, OneWithConnectionsThatLingerIsTakenAgain) {
  Socket listener = listen_on("", 0);
  const int port = listener.local_port();
  const Socket peer = knock(port);
  listener.accept(after(20s)).close();
  listener.close();
  EXPECT_EQ(listen_on("", static_cast<std::uint16_t>(port)).local_port(), port);
}

// B08.
TEST(Ports, OneOfOutgoingConnectionsIsWarnedOf) {
  using control::ephemeral_port_warning;
  const std::string warning = ephemeral_port_warning(45000, "32768\t60999\n");
  EXPECT_TRUE(says(warning, "port 45000 lies in the range 32768-60999"));
  EXPECT_TRUE(says(warning, "net.ipv4.ip_local_port_range"));
  EXPECT_TRUE(says(warning, "TF_WORKER_PORT or --rendezvous"));
  for (const int port : {32768, 60999}) EXPECT_NE(ephemeral_port_warning(port, "32768\t60999"), "");
  for (const int port : {12345, 32767, 61000})
    EXPECT_EQ(ephemeral_port_warning(port, "32768\t60999"), "");
  EXPECT_EQ(ephemeral_port_warning(45000, ""), "");
}

// --- descriptors ---------------------------------------------------------------------------------

// In a process of its own, whose limits end with it.
void with_descriptor_limits(rlim_t soft, rlim_t hard, const std::function<bool()>& holds) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{soft, hard};
    setrlimit(RLIMIT_NOFILE, &limit);
    _exit(holds() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

rlim_t soft_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

TEST(Ports, DescriptorsForAllPeersAreMadeRoomFor) {
  using control::make_room_for_connections;
  with_descriptor_limits(256, 4096, [] {
    make_room_for_connections(1024, 2048);
    return soft_limit() >= 2048;
  });
  with_descriptor_limits(256, 1500, [] {  // less than wanted, but enough
    make_room_for_connections(1024, 2048);
    return soft_limit() == 1500;
  });
  with_descriptor_limits(256, 512, [] {
    const Failure failure = failure_of([] { make_room_for_connections(1024, 2048); });
    return failure.code == ExitCode::usage && says(failure.message, "the limit is 512: raise it");
  });
}

// --- address families ----------------------------------------------------------------------------

void expect_run_over(const std::string& listen_host, const std::string& connect_host) {
  ControlOptions options = quick_options();
  { options.port = listen_on("", 0).local_port(); }
  options.host = connect_host;
  std::thread rank_1([&] {
    const auto channel = ControlChannel::join(identity_of(1, 2), options);
    channel->barrier("round");
    channel->leave(ExitCode::done, "");
  });
  ControlOptions of_rank_0 = options;
  of_rank_0.host = listen_host;
  const auto channel = ControlChannel::join(identity_of(0, 2), of_rank_0);
  channel->barrier("round");
  channel->leave(ExitCode::done, "");
  rank_1.join();
}

std::string own_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

TEST(Ports, EveryAddressIsListenedToOverIpv4) { expect_run_over(own_name(), "127.0.0.1"); }

TEST(Ports, EveryAddressIsListenedToOverIpv6) {
  if (!has_ipv6()) GTEST_SKIP() << "skipped: no IPv6";
  expect_run_over(own_name(), "::1");
}

TEST(Ports, LoopbackOfIpv6) {
  if (!has_ipv6()) GTEST_SKIP() << "skipped: no IPv6";
  expect_run_over("::1", "::1");
}

}  // namespace
}  // namespace annulus
