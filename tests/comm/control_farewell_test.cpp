// The end of a run: all ranks stay until all are done, a slow one is waited for, and a failure of
// one, or of several at once, is everybody's. The case B12.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>

#include "comm/control.h"
#include "tests/comm/control_ranks.h"
#include "tests/comm/raw_rank.h"

namespace annulus {
namespace {

using namespace test;

// Longer than the time after which a silent rank is lost: heartbeats decide.
TEST(Farewell, WhoIsDoneWaitsForASlowRankThatLives) {
  for (const int slow : {0, 1}) {
    Ranks ranks(3);
    ranks.options().peer_timeout = 1s;
    std::atomic<bool> all_done{false};
    ranks.each([&](int rank) {
      const auto channel = ranks.join(rank);
      channel->barrier("end");
      if (rank == slow) {
        std::this_thread::sleep_for(2500ms);  // writes its last files
        all_done = true;
      }
      channel->leave(ExitCode::done, "");
      EXPECT_TRUE(all_done);
      EXPECT_FALSE(channel->lost());
    });
  }
}

// B12, in a collective.
TEST(Farewell, ASlowRankThatLivesIsWaitedForInACollective) {
  Ranks ranks(2);
  ranks.options().peer_timeout = 1s;
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    if (rank == 0) std::this_thread::sleep_for(2500ms);  // unpacks the data
    channel->barrier("start");
    channel->leave(ExitCode::done, "");
  });
}

// Rank 2 fails while the others are done and wait.
void expect_failure_at_the_end(const std::function<void(ControlChannel&)>& fail, ExitCode code) {
  Ranks ranks(3);
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    if (rank == 2) {
      std::this_thread::sleep_for(300ms);
      return fail(*channel);
    }
    const Failure failure = failure_of([&] { channel->leave(ExitCode::done, ""); });
    EXPECT_EQ(failure.code, code);
    EXPECT_EQ(failure.rank, 2);
  });
}

TEST(Farewell, AFailureAfterOthersAreDoneIsTheirsToo) {
  expect_failure_at_the_end(
      [](ControlChannel& channel) { channel.leave(ExitCode::storage, "the disk is full"); },
      ExitCode::storage);
}

TEST(Farewell, ALossAfterOthersAreDoneIsTheirsToo) {
  Ranks ranks(2);
  RawRank victim(ranks.port(), hello_of(1, 2));
  auto rank_0 = std::async(std::launch::async, [&] {
    const auto channel = ranks.join(0);
    return failure_of([&] { channel->leave(ExitCode::done, ""); });
  });
  EXPECT_EQ(victim.next()->type, control::FrameType::welcome);
  victim.close();
  const Failure failure = rank_0.get();
  EXPECT_EQ(failure.code, ExitCode::peer_lost);
  EXPECT_EQ(failure.rank, 1);
}

// Rank 0 is killed while rank 1 is done and waits: the end of its connection is no farewell.
TEST(Farewell, TheEndOfRankZeroIsNoFarewell) {
  const Socket listener = listen_on("127.0.0.1", 0);
  ControlOptions options = quick_options();
  options.port = listener.local_port();
  auto rank_0 = std::async(std::launch::async, [&] {
    control::Connection connection(listener.accept(after(20s)), control::hello_limit);
    connection.send(control::Welcome{"host-a", "g", ""}.frame());
    std::this_thread::sleep_for(300ms);
  });
  const auto channel = ControlChannel::join(identity_of(1, 2), options);
  const Failure failure = failure_of([&] { channel->leave(ExitCode::done, ""); });
  EXPECT_EQ(failure.code, ExitCode::peer_lost);
  EXPECT_EQ(failure.rank, 0);
  EXPECT_TRUE(says(failure.message, "rank 0 on host-a in start: ended without a word"));
}

TEST(Farewell, NoHandlerIsCalledForALossAfterTheLastWord) {
  Ranks ranks(2);
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    channel->on_loss([&](const Loss&) { ADD_FAILURE() << "rank " << rank << " was called"; });
    if (rank == 1) {
      std::this_thread::sleep_for(200ms);
      return channel->leave(ExitCode::data, "");
    }
    EXPECT_EQ(failure_of([&] { channel->leave(ExitCode::done, ""); }).code, ExitCode::data);
  });
}

// --- several at once -----------------------------------------------------------------------------

// Ranks 1 to 4 see rank 5's failure by themselves (NCCL's error) and leave because of a peer,
// before or after its own word comes: everybody ends with its code.
TEST(Farewell, APermanentCodeIsEverybodysWhoeverIsSeenFirst) {
  for (const auto delay : {0ms, 150ms}) {
    ControlOptions options = quick_options();
    options.heartbeat = 500ms;
    Ranks ranks(6, options);
    ranks.each([&](int rank) {
      const auto channel = ranks.join(rank);
      channel->barrier("start");
      if (rank == 5) {
        std::this_thread::sleep_for(delay);
        return channel->leave(ExitCode::diverged, "loss is NaN");
      }
      if (rank > 0) {
        channel->leave(ExitCode::peer_lost, "NCCL says a peer is gone");
        return;
      }
      const Loss loss = await_loss(*channel);
      EXPECT_EQ(loss.rank, 5);
      EXPECT_EQ(loss.code, ExitCode::diverged);
      channel->leave(loss.code, loss.message);
    });
  }
}

TEST(Farewell, TheSameFailureOnAllRanksEndsAllWithIt) {
  Ranks ranks(5);
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    channel->barrier("start");
    channel->leave(ExitCode::data, "no such folder");
  });
}

}  // namespace
}  // namespace annulus
