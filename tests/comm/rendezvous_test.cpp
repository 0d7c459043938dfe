// The rendezvous: who is let in, who is refused and with which words, and that strangers harm
// nobody.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
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

TEST(Rendezvous, APortInUseIsSaid) {
  const Socket listener = listen_on("127.0.0.1", 0);
  ControlOptions options = quick_options();
  options.port = listener.local_port();
  const Failure failure = failure_of([&] { ControlChannel::join(identity_of(0, 2), options); });
  EXPECT_EQ(failure.code, ExitCode::usage);
  EXPECT_TRUE(says(failure.message, "port " + std::to_string(options.port) + " in use"));
  EXPECT_TRUE(says(failure.message, "TF_WORKER_PORT or --rendezvous"));
}

// --- refusals ------------------------------------------------------------------------------------

// While rank 1 is waited for, `intruder` tries to join; then the run starts as if nothing had been.
Failure refusal_of(const Identity& intruder, const std::function<void(ControlOptions&)>& change) {
  Ranks ranks(3);
  Failure failure;
  std::atomic<bool> tried{false};
  ranks.each([&](int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(100ms);  // the others are there by then, most likely
      ControlOptions options = ranks.options_of(1);
      change(options);
      failure = failure_of([&] { ControlChannel::join(intruder, options); });
      tried = true;
    }
    const auto channel = ranks.join(rank);
    EXPECT_TRUE(tried);
    channel->barrier("end");
    channel->leave(ExitCode::done, "");
  });
  return failure;
}

TEST(Rendezvous, AnotherJobIsRefused) {
  const Failure failure =
      refusal_of(identity_of(1, 3), [](ControlOptions& options) { options.job = "yesterday"; });
  EXPECT_EQ(failure.code, ExitCode::refused);
  EXPECT_TRUE(says(failure.message, "job 'yesterday', rank 0 to job 'test'"));
}

TEST(Rendezvous, AnotherWorldSizeIsRefused) {
  const Failure failure = refusal_of(identity_of(1, 4), [](ControlOptions&) {});
  EXPECT_EQ(failure.code, ExitCode::refused);
  EXPECT_TRUE(says(failure.message, "world size is 4, rank 0's is 3"));
}

TEST(Rendezvous, ARankOutOfRangeIsRefused) {
  const Failure failure = refusal_of(identity_of(3, 3), [](ControlOptions&) {});
  EXPECT_EQ(failure.code, ExitCode::refused);
  EXPECT_TRUE(says(failure.message, "rank 3 on "));
  EXPECT_TRUE(says(failure.message, "count from 0 to 2"));
}

TEST(Rendezvous, ARankClaimedTwiceIsRefused) {
  Ranks ranks(3);
  // The first claim stands in the queue before the second is made.
  Socket first = connect_to("127.0.0.1", static_cast<std::uint16_t>(ranks.port()), after(20s));
  const std::string hello = control::encode(
      control::Hello{.job = "test", .rank = 1, .world = 3, .nonce = 1, .host = "first"}.frame());
  first.send(hello.data(), hello.size(), after(20s));
  auto second = std::async(std::launch::async, [&] { return failure_of([&] { ranks.join(1); }); });
  auto rank_2 = std::async(std::launch::async, [&] {
    second.wait_for(2s);  // not earlier, so that the rendezvous is still open
    return ranks.join(2);
  });
  const auto channel = ranks.join(0);
  const Failure refused = second.get();
  EXPECT_EQ(refused.code, ExitCode::refused);
  EXPECT_TRUE(says(refused.message, "index 1 already joined, from first"));
  first.close();
  const Loss loss = await_loss(*channel);
  EXPECT_EQ(loss.rank, 1);
  channel->leave(loss.code, loss.message);
  rank_2.get()->leave(loss.code, loss.message);
}

TEST(Rendezvous, ALateComerIsRefused) {
  Ranks ranks(2);
  std::unique_ptr<ControlChannel> channels[2];
  ranks.each([&](int rank) { channels[rank] = ranks.join(rank); });
  EXPECT_TRUE(says(failure_of([&] { ranks.join(1); }).message, "a different incarnation"));
  ranks.each([&](int rank) { channels[rank]->leave(ExitCode::done, ""); });
}

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

void expect_all_refused(const std::vector<Fact>& facts, const std::string& words) {
  Ranks ranks(3);
  ranks.each([&](int rank) {
    ControlOptions options = ranks.options_of(rank);
    options.facts = {facts[rank]};
    const Failure failure =
        failure_of([&] { ControlChannel::join(identity_of(rank, 3), options); });
    EXPECT_EQ(failure.code, ExitCode::usage);
    EXPECT_TRUE(says(failure.message, words));
  });
}

TEST(Facts, WhatMustAgreeIsShownFromBothRanks) {
  const auto model = [](const char* value) { return Fact{"model", value, Fact::Rule::must_agree}; };
  expect_all_refused({model("mlp"), model("mlp"), model("resnet8")},
                     " has model 'mlp', rank 2 on ");
  expect_all_refused({model("mlp"), {"build", "a"}, model("mlp")}, " has nothing");
}

TEST(Facts, WhatMustDifferIsShownFromBothRanks) {
  const auto device = [](const char* value) {
    return Fact{"device", value, Fact::Rule::must_differ};
  };
  expect_all_refused({device("0"), device("1"), device("1")}, "both have device '1'");
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

// --- strangers -----------------------------------------------------------------------------------

void close_by_reset(Socket socket) {
  const linger now{1, 0};
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

TEST(Strangers, HarmNobody) {
  Ranks ranks(2);
  const auto port = static_cast<std::uint16_t>(ranks.port());
  std::string oversize = control::encode({control::FrameType::hello, ""});
  oversize.replace(8, 4, "\xff\xff\xff\x7f");
  const std::vector<std::string> openings{
      "GET / HTTP/1.1\r\n\r\n",
      std::string(64, '\xff'),
      std::string(1 << 20, 'r'),
      oversize,
      control::encode({control::FrameType::hello, "no fields"}),
      control::encode({control::FrameType::welcome, ""}),
      "an",  // and then silence
      "",
  };
  std::vector<Socket> open;
  const auto disturb = [&] {
    for (const std::string& opening : openings) {
      Socket stranger = connect_to("127.0.0.1", port, after(20s));
      try {
        stranger.send(opening.data(), opening.size(), after(20s));
      } catch (const NetError&) {  // dropped in the middle of it, as it should be
      }
      open.push_back(std::move(stranger));
    }
    close_by_reset(connect_to("127.0.0.1", port, after(20s)));
    connect_to("127.0.0.1", port, after(20s)).close();
  };

  disturb();  // before rank 0 is there: they wait in the listener's queue
  std::thread rank_1([&] {
    const auto channel = ranks.join(1);
    for (int round = 0; round < 20; ++round) channel->barrier("round");
    channel->leave(ExitCode::done, "");
  });
  const auto channel = ranks.join(0);
  disturb();
  for (int round = 0; round < 20; ++round) channel->barrier("round");

  // Who said something wrong was hung up on.
  for (std::size_t i = 0; i < 6; ++i) {
    char byte = 0;
    try {
      open[i].receive(&byte, 1, after(6s));  // before silence alone would be its end
      ADD_FAILURE() << "an answer to stranger " << i;
    } catch (const NetError& error) {
      EXPECT_EQ(error.kind(), NetError::Kind::closed) << "stranger " << i;
    }
  }
  channel->leave(ExitCode::done, "");
  rank_1.join();
}

}  // namespace
}  // namespace annulus
