// Sockets over real loopback connections: both families, names, a listener that comes late, and
// each way a call can fail, told apart and in time.
#include "comm/socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

namespace annulus {
namespace {

using namespace std::chrono_literals;
using Kind = NetError::Kind;

constexpr auto plenty = 30s;

struct Pair {
  Socket listener, client, server;
};

Pair connected(const std::string& address) {
  Pair pair;
  pair.listener = listen_on(address, 0);
  pair.client = connect_to(address.empty() ? "127.0.0.1" : address, pair.listener.local_port(),
                           after(plenty));
  pair.server = pair.listener.accept(after(plenty));
  return pair;
}

bool machine_has_ipv6() {
  try {
    listen_on("::1", 0);
    return true;
  } catch (const NetError&) {
    return false;
  }
}

template <typename Call>
Kind failure_of(Call call) {
  try {
    call();
  } catch (const NetError& error) {
    EXPECT_NE(std::string(error.what()), "");
    return error.kind();
  }
  ADD_FAILURE() << "no NetError";
  return Kind::system;
}

void expect_exchange(const Pair& pair) {
  // More than the socket buffers hold, so that both sides have to wait for each other.
  const std::vector<std::uint8_t> sent(16 << 20, 0x5a);
  std::vector<std::uint8_t> received(sent.size());
  std::thread sender([&] { pair.client.send(sent.data(), sent.size(), after(plenty)); });
  pair.server.receive(received.data(), received.size(), after(plenty));
  sender.join();
  EXPECT_EQ(received, sent);
}

TEST(Socket, CarriesBytesOverIpv4) {
  const Pair pair = connected("127.0.0.1");
  expect_exchange(pair);
  EXPECT_TRUE(pair.server.peer_address().starts_with("127.0.0.1:"));
}

TEST(Socket, CarriesBytesOverIpv6) {
  if (!machine_has_ipv6()) GTEST_SKIP() << "no IPv6 on this machine";
  const Pair pair = connected("::1");
  expect_exchange(pair);
  EXPECT_TRUE(pair.server.peer_address().starts_with("[::1]:"));
}

TEST(Socket, AListenerOnEveryAddressTakesBothFamilies) {
  const Socket listener = listen_on("", 0);
  const Socket ipv4 = connect_to("127.0.0.1", listener.local_port(), after(plenty));
  EXPECT_TRUE(listener.accept(after(plenty)).peer_address().starts_with("127.0.0.1:"));
  if (!machine_has_ipv6()) return;
  const Socket ipv6 = connect_to("::1", listener.local_port(), after(plenty));
  EXPECT_TRUE(listener.accept(after(plenty)).peer_address().starts_with("[::1]:"));
}

TEST(Socket, NamesAreResolved) {
  const Socket listener = listen_on("", 0);
  EXPECT_TRUE(connect_to("localhost", listener.local_port(), after(plenty)));
}

TEST(Socket, WaitsForAListenerThatComesLate) {
  std::uint16_t port = 0;
  { port = listen_on("127.0.0.1", 0).local_port(); }
  Socket late;
  std::thread listening([&] {
    std::this_thread::sleep_for(150ms);
    late = listen_on("127.0.0.1", port);
  });
  EXPECT_TRUE(connect_to("127.0.0.1", port, after(plenty)));
  listening.join();
}

TEST(Socket, EveryWaitEndsAtItsDeadline) {
  const Pair pair = connected("127.0.0.1");
  char byte = 0;
  const std::vector<char> more_than_buffers(64 << 20);
  EXPECT_EQ(failure_of([&] { pair.server.receive(&byte, 1, after(50ms)); }), Kind::timeout);
  EXPECT_EQ(failure_of([&] { pair.listener.accept(after(50ms)); }), Kind::timeout);
  EXPECT_EQ(failure_of([&] {
              pair.client.send(more_than_buffers.data(), more_than_buffers.size(), after(50ms));
            }),
            Kind::timeout);
}

TEST(Socket, NobodyListeningIsATimeoutThatNamesTheAddress) {
  std::uint16_t port = 0;
  { port = listen_on("127.0.0.1", 0).local_port(); }
  try {
    connect_to("127.0.0.1", port, after(100ms));
    FAIL() << "connected to nobody";
  } catch (const NetError& error) {
    EXPECT_EQ(error.kind(), Kind::timeout);
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:" + std::to_string(port)),
              std::string::npos);
  }
}

// The deadline cuts the last look-up short; what was found out before it is what is told.
TEST(Socket, TheReasonIsThatOfAnAttemptThatCameToItsEnd) {
  const std::uint16_t port = listen_on("127.0.0.1", 0).local_port();
  int lookups = 0;
  const HostLookup once = [&](const std::string&, Deadline deadline) -> std::vector<std::string> {
    if (lookups++ == 0) return {"127.0.0.1"};
    std::this_thread::sleep_until(deadline);
    throw NetError(Kind::system, "the resolver gave no answer");
  };
  try {
    connect_to("worker-0", port, after(200ms), once);
    FAIL() << "connected to nobody";
  } catch (const NetError& error) {
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:" + std::to_string(port) + ": Connection"),
              std::string::npos)
        << error.what();
  }
}

TEST(Socket, ANameThatDoesNotExistIsATimeout) {
  EXPECT_EQ(failure_of([] { connect_to("no-such-host.invalid", 1, after(100ms)); }), Kind::timeout);
}

TEST(Socket, TheOtherSideGoneIsSeenAndRaisesNoSignal) {
  Pair pair = connected("127.0.0.1");
  pair.server.close();
  char byte = 0;
  EXPECT_EQ(failure_of([&] { pair.client.receive(&byte, 1, after(plenty)); }), Kind::closed);
  const std::vector<char> data(1 << 20);
  EXPECT_EQ(failure_of([&] {
              for (;;) pair.client.send(data.data(), data.size(), after(plenty));
            }),
            Kind::closed);
}

TEST(Socket, APortInUseIsToldApart) {
  const Socket first = listen_on("127.0.0.1", 0);
  EXPECT_EQ(failure_of([&] { listen_on("127.0.0.1", first.local_port()); }), Kind::in_use);
}

TEST(Socket, MovingHandsTheDescriptorOn) {
  Socket first = listen_on("127.0.0.1", 0);
  const int descriptor = first.descriptor();
  Socket second = std::move(first);
  EXPECT_EQ(second.descriptor(), descriptor);
  second = Socket();
  EXPECT_FALSE(second);
}

}  // namespace
}  // namespace annulus
