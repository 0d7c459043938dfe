// The control channel among ranks as threads: collectives in any order of arrival, and every way in
// which a rank can leave.
#include "comm/control.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "comm/control_messages.h"
#include "tests/comm/control_ranks.h"
#include "tests/comm/raw_rank.h"

namespace annulus {
namespace {

using namespace test;

void sleep_at_random(std::minstd_rand& random) {
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
}

TEST(Control, CollectivesWhateverOrderRanksComeIn) {
  constexpr int world = 5, rounds = 40;
  Ranks ranks(world);
  std::atomic<int> arrived{0};
  ranks.each([&](int rank) {
    std::minstd_rand random(rank + 1);
    sleep_at_random(random);
    const auto channel = ranks.join(rank);
    for (int round = 1; round <= rounds; ++round) {
      sleep_at_random(random);
      const auto texts = channel->gather(std::to_string(rank * 1000 + round));
      ASSERT_EQ(texts.size(), std::size_t{world});
      for (int other = 0; other < world; ++other)
        EXPECT_EQ(texts[other], std::to_string(other * 1000 + round));
      EXPECT_EQ(channel->broadcast(rank == 0 ? "id" + std::to_string(round) : "ignored"),
                "id" + std::to_string(round));
      sleep_at_random(random);
      ++arrived;
      channel->barrier("round");
      EXPECT_GE(arrived, world * round);
    }
    EXPECT_FALSE(channel->lost());
    channel->leave(ExitCode::done, "");
    EXPECT_FALSE(channel->lost());
  });
}

TEST(Control, LongTextsAndAnyBytes) {
  Ranks ranks(3);
  const std::string long_text(3 << 20, 'x'), bytes("\0\xff\n", 3);
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    EXPECT_EQ(channel->broadcast(long_text), long_text);
    EXPECT_EQ(channel->gather(bytes), std::vector<std::string>(3, bytes));
    channel->leave(ExitCode::done, "");
  });
}

TEST(Control, ARankAloneJoinsItself) {
  Ranks ranks(1);
  const auto channel = ranks.join(0);
  EXPECT_EQ(channel->gather("a"), std::vector<std::string>{"a"});
  channel->barrier("end");
  channel->leave(ExitCode::done, "");
}

TEST(Control, RanksThatLeaveAtDifferentTimesAreNoLoss) {
  for (const int slow : {0, 2}) {
    Ranks ranks(3);
    ranks.each([&](int rank) {
      const auto channel = ranks.join(rank);
      channel->barrier("end");
      if (rank == slow) std::this_thread::sleep_for(300ms);
      EXPECT_FALSE(channel->lost());
      channel->leave(ExitCode::done, "");
    });
  }
}

// --- leaving -------------------------------------------------------------------------------------

// Rank `leaver` leaves; what do the others learn?
void expect_loss_when_one_leaves(int leaver, const std::function<void(ControlChannel&)>& leave,
                                 ExitCode code, const std::string& words) {
  Ranks ranks(3);
  ranks.each([&](int rank) {
    auto channel = ranks.join(rank);
    channel->barrier("start");
    if (rank == leaver) {
      channel->set_phase({"step", 12, 3});
      leave(*channel);
      return;
    }
    const Loss loss = await_loss(*channel);
    EXPECT_EQ(loss.rank, leaver);
    EXPECT_EQ(loss.code, code);
    EXPECT_TRUE(says(loss.message, "rank " + std::to_string(leaver) + " on "));
    EXPECT_TRUE(says(loss.message, "in step 12, bucket 3: "));
    EXPECT_TRUE(says(loss.message, words));
    const Failure failure = failure_of([&] { channel->barrier("next"); });
    EXPECT_EQ(failure.code, code);
    EXPECT_EQ(failure.rank, leaver);
    channel->leave(loss.code, loss.message);
  });
}

TEST(Control, APermanentCodeBecomesEveryRanksCode) {
  for (const int leaver : {0, 1})
    expect_loss_when_one_leaves(
        leaver, [](ControlChannel& channel) { channel.leave(ExitCode::diverged, "loss is NaN"); },
        ExitCode::diverged, "left with code 5: loss is NaN");
}

TEST(Control, ATransientCodeIsALostPeer) {
  expect_loss_when_one_leaves(
      2, [](ControlChannel& channel) { channel.leave(ExitCode::terminated, "SIGTERM"); },
      ExitCode::peer_lost, "left with code 143: SIGTERM");
}

TEST(Control, AChannelDestroyedWithoutALastWordIsAnInternalError) {
  expect_loss_when_one_leaves(
      1, [](ControlChannel&) {}, ExitCode::internal, "left with code 1");
}

TEST(Control, ACollectiveFindsAnEarlyLeaverAtOnce) {
  ControlOptions options = quick_options();
  options.peer_timeout = 60s;  // nothing but the collective can find it in time
  Ranks ranks(2, options);
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    const Failure failure = failure_of([&] {
      if (rank == 1)
        channel->leave(ExitCode::done, "");
      else
        channel->barrier("epoch");
    });
    EXPECT_EQ(failure.code, ExitCode::peer_lost);
    EXPECT_EQ(failure.rank, 1);
    EXPECT_TRUE(says(failure.message, "left early: "));
    channel->leave(failure.code, failure.message);
  });
}

TEST(Control, ARankThatLeavesBecauseOfAPeerDoesNotHideTheCause) {
  ControlOptions options = quick_options();
  options.heartbeat = 1s;  // a symptom is held back for two of them
  Ranks ranks(3, options);
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    channel->barrier("start");
    if (rank == 2) return channel->leave(ExitCode::peer_lost, "NCCL says a peer is gone");
    if (rank == 1) {
      std::this_thread::sleep_for(200ms);
      return channel->leave(ExitCode::storage, "the disk is full");
    }
    const Loss loss = await_loss(*channel);
    EXPECT_EQ(loss.rank, 1);
    EXPECT_EQ(loss.code, ExitCode::storage);
    channel->leave(loss.code, loss.message);
  });
}

TEST(Control, ARankThatLeavesBecauseOfAPeerIsALossWhereNoOtherCauseComes) {
  expect_loss_when_one_leaves(
      2, [](ControlChannel& channel) { channel.leave(ExitCode::peer_lost, "NCCL says so"); },
      ExitCode::peer_lost, "left with code 201: NCCL says so");
}

TEST(Control, TheHandlerIsCalledOnceAlsoWhereTheLossCameFirst) {
  Ranks ranks(2);
  ranks.each([&](int rank) {
    std::atomic<int> early{0}, late{0};
    const auto channel = ranks.join(rank);
    if (rank == 1) return channel->leave(ExitCode::data, "");
    channel->on_loss([&](const Loss& loss) {
      EXPECT_EQ(loss.rank, 1);
      ++early;
    });
    await_loss(*channel);
    channel->on_loss([&](const Loss&) { ++late; });
    EXPECT_EQ(late, 1);
    channel->leave(ExitCode::data, "");
    const Deadline deadline = after(10s);
    while (early == 0 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(1ms);
    EXPECT_EQ(early, 1);
  });
}

// --- collectives that cannot be ------------------------------------------------------------------

TEST(Control, DifferentCollectivesAreShown) {
  Ranks ranks(2);
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    const Failure failure = failure_of([&] {
      if (rank == 0)
        channel->barrier("epoch");
      else
        channel->gather("x");
    });
    EXPECT_EQ(failure.code, ExitCode::internal);
    EXPECT_TRUE(says(failure.message, "calls gather") || says(failure.message, "while rank 1"));
    EXPECT_TRUE(says(failure.message, "barrier 'epoch'"));
    channel->leave(failure.code, failure.message);
  });
}

TEST(Control, ARankThatDoesNotComeToACollectiveIsNamed) {
  ControlOptions options = quick_options();
  options.collective_timeout = 200ms;
  Ranks ranks(3, options);
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    const Failure failure = failure_of([&] {
      if (rank != 1) channel->barrier("epoch");
    });
    const Loss loss = await_loss(*channel);
    EXPECT_EQ(loss.rank, 1);
    EXPECT_TRUE(
        says(loss.message, "did not come to barrier 'epoch' within 0.2 s (missing: rank 1)"));
    if (rank != 1) {
      EXPECT_EQ(failure.rank, 1);
    }
    channel->leave(ExitCode::peer_lost, "");
  });
}

// --- a rank that sends but does not read ---------------------------------------------------------

TEST(Control, ARankThatTakesNoDataIsLost) {
  using namespace control;
  Ranks ranks(2);
  ranks.options().peer_timeout = 2s;
  std::atomic<bool> ended{false};
  std::thread deaf([&] {
    RawRank rank(ranks.port(), hello_of(1, 2));
    EXPECT_EQ(rank.next()->type, FrameType::welcome);
    rank.send(Contribution{Contribution::Answer::text_of_rank_0, "broadcast", ""}.frame());
    for (; !ended; std::this_thread::sleep_for(50ms)) rank.send(Heartbeat{}.frame());
  });
  const auto channel = ranks.join(0);
  channel->broadcast(std::string(32 << 20, 'x'));
  const Loss loss = await_loss(*channel);
  EXPECT_EQ(loss.rank, 1);
  EXPECT_TRUE(says(loss.message, "took no data for 2 s"));
  channel->leave(loss.code, loss.message);
  ended = true;
  deaf.join();
}

}  // namespace
}  // namespace annulus
