// The rendezvous: who is absent is named, another version is refused, facts are compared. Who
// claims which seat: rendezvous_claims_test.cpp; strangers: rendezvous_strangers_test.cpp.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/control.h"
#include "comm/control_frames.h"
#include "comm/control_messages.h"
#include "tests/comm/control_ranks.h"

namespace annulus {
namespace {

using namespace test;

TEST(Rendezvous, TheAbsentAreNamedOnAllWhoCame) {
  Ranks ranks(4);
  ranks.options().rendezvous_timeout = 700ms;
  ranks.each(
      [&](int rank) {
        const Failure failure = failure_of([&] { ranks.join(rank); });
        EXPECT_EQ(failure.code, ExitCode::rendezvous);
        EXPECT_TRUE(
            says(failure.message, "ranks 1 and 3 of 4 did not come to rank 0 within 0.7 s"));
      },
      {1, 3});
}

TEST(Rendezvous, AnAbsentRankZeroIsNamed) {
  Ranks ranks(2);
  ControlOptions options = ranks.options();
  { options.port = listen_on("127.0.0.1", 0).local_port(); }
  options.rendezvous_timeout = 200ms;
  const Failure failure = failure_of([&] { ControlChannel::join(identity_of(1, 2), options); });
  EXPECT_EQ(failure.code, ExitCode::rendezvous);
  EXPECT_EQ(failure.rank, 0);
  EXPECT_TRUE(says(failure.message, "rank 0 at 127.0.0.1:" + std::to_string(options.port)));
}

TEST(Rendezvous, WithoutAnAddressTheFixIsNamed) {
  for (const int rank : {0, 1}) {
    const Failure failure =
        failure_of([&] { ControlChannel::join(identity_of(rank, 2), quick_options()); });
    EXPECT_EQ(failure.code, ExitCode::usage);
    EXPECT_TRUE(says(failure.message, "--rendezvous host:port"));
  }
}

TEST(Rendezvous, SomethingElseAtThePortIsNoRankZero) {
  const Socket listener = listen_on("127.0.0.1", 0);
  ControlOptions options = quick_options();
  options.port = listener.local_port();
  std::thread server([&] {
    const Socket client = listener.accept(after(20s));
    const std::string answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
    client.send(answer.data(), answer.size(), after(20s));
  });
  const Failure failure = failure_of([&] { ControlChannel::join(identity_of(1, 2), options); });
  server.join();
  EXPECT_EQ(failure.code, ExitCode::refused);
  EXPECT_TRUE(says(failure.message, "is no Annulus"));
}

// --- refusals ------------------------------------------------------------------------------------

TEST(Rendezvous, AnotherProtocolVersionIsRefusedInWordsItCanRead) {
  Ranks ranks(2);
  std::unique_ptr<ControlChannel> channel;
  std::thread rank_0([&] { channel = ranks.join(0); });
  const Socket old = connect_to("127.0.0.1", static_cast<std::uint16_t>(ranks.port()), after(20s));
  std::string hello = control::encode({control::FrameType::hello, ""});
  hello[4] = 9;
  old.send(hello.data(), hello.size(), after(20s));
  std::string header(control::header_bytes, '\0');
  old.receive(header.data(), header.size(), after(20s));
  std::string reason(static_cast<unsigned char>(header[8]), '\0');
  old.receive(reason.data(), reason.size(), after(20s));
  EXPECT_EQ(reason[0], 2);  // ExitCode::usage
  EXPECT_TRUE(says(reason, "it speaks version 9"));
  const auto rank_1 = ranks.join(1);
  rank_0.join();
  std::thread leaving([&] { rank_1->leave(ExitCode::done, ""); });
  channel->leave(ExitCode::done, "");
  leaving.join();
}

// --- facts ---------------------------------------------------------------------------------------

void expect_all_refused(const std::vector<Fact>& facts, ExitCode code, const std::string& words) {
  Ranks ranks(3);
  ranks.each([&](int rank) {
    ControlOptions options = ranks.options_of(rank);
    options.facts = {facts[rank]};
    const Failure failure =
        failure_of([&] { ControlChannel::join(identity_of(rank, 3), options); });
    EXPECT_EQ(failure.code, code);
    EXPECT_TRUE(says(failure.message, words));
  });
}

TEST(Facts, WhatMustAgreeIsShownFromBothRanks) {
  const auto model = [](const char* value) { return Fact{"model", value, Fact::Rule::must_agree}; };
  expect_all_refused({model("mlp"), model("mlp"), model("resnet8")}, ExitCode::usage,
                     " has model 'mlp', rank 2 on ");
  expect_all_refused({model("mlp"), {"build", "a"}, model("mlp")}, ExitCode::usage, " has nothing");
}

TEST(Facts, WhatMustDifferIsShownFromBothRanks) {
  const auto device = [](const char* value) {
    return Fact{"device", value, Fact::Rule::must_differ};
  };
  expect_all_refused({device("0"), device("1"), device("1")}, ExitCode::device,
                     "both have device '1'");
}

TEST(Facts, TheOthersAreToldAndLetIn) {
  Ranks ranks(2);
  ranks.each([&](int rank) {
    ControlOptions options = ranks.options_of(rank);
    options.facts = {{"driver", std::to_string(rank), Fact::Rule::should_agree},
                     {"cores", std::to_string(rank + 4), Fact::Rule::tell}};
    const auto channel = ControlChannel::join(identity_of(rank, 2), options);
    if (rank == 0) {
      EXPECT_EQ(channel->facts_of(1).at(1).value, "5");
    } else {
      EXPECT_TRUE(channel->facts_of(0).empty());
    }
    channel->barrier("end");
    channel->leave(ExitCode::done, "");
  });
}

}  // namespace
}  // namespace annulus
