// Who claims which seat: a second claimant of an index, an older or newer life of the job, a peer
// that comes back into a live run, a late joiner where workers were counted. The cases H10, T05 and
// B04.
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <memory>

#include "comm/control.h"
#include "tests/comm/control_ranks.h"
#include "tests/comm/raw_rank.h"

namespace annulus {
namespace {

using namespace test;
using control::FrameType;

// What `join` threw while rank 1 of 3 is still awaited; then the run starts as if nothing had been.
Failure refusal_of(
    const Identity& intruder, const std::function<void(ControlOptions&)>& change,
    const std::function<void(ControlOptions&)>& of_all = [](ControlOptions&) {}) {
  Ranks ranks(3);
  of_all(ranks.options());
  Failure failure;
  ranks.each([&](int rank) {
    if (rank == 1) {
      ControlOptions options = ranks.options_of(1);
      change(options);
      failure = failure_of([&] { ControlChannel::join(intruder, options); });
    }
    ranks.join(rank)->leave(ExitCode::done, "");
  });
  return failure;
}

TEST(Claims, AnotherJobIsRefused) {
  const Failure failure =
      refusal_of(identity_of(1, 3), [](ControlOptions& options) { options.job = "yesterday"; });
  EXPECT_EQ(failure.code, ExitCode::refused);
  EXPECT_TRUE(says(failure.message, "job 'yesterday', rank 0 to job 'test'"));
}

TEST(Claims, AnotherGenerationIsRefused) {
  for (const char* other : {"uid.1", "uid.3", ""}) {
    const Failure failure = refusal_of(
        identity_of(1, 3), [&](ControlOptions& options) { options.generation = other; },
        [](ControlOptions& options) { options.generation = "uid.2"; });
    EXPECT_EQ(failure.code, ExitCode::refused);
    EXPECT_TRUE(
        says(failure.message, std::string("generation '") + other + "', rank 0 to 'uid.2'"));
    EXPECT_TRUE(says(failure.message, "an older or newer life of the job"));
  }
}

TEST(Claims, AnotherWorldSizeIsRefused) {
  const Failure failure = refusal_of(identity_of(1, 4), [](ControlOptions&) {});
  EXPECT_EQ(failure.code, ExitCode::refused);
  EXPECT_TRUE(says(failure.message, "world size is 4, rank 0's is 3"));
}

TEST(Claims, AnotherNumberOfRanksANodeIsRefused) {
  const Failure failure = refusal_of(identity_of(1, 3), [](ControlOptions& options) {
    options.node = 1;
    options.local_ranks = 2;
  });
  EXPECT_EQ(failure.code, ExitCode::refused);
  EXPECT_TRUE(says(failure.message, "its node 1 has 2 ranks, rank 0's has 1"));
}

TEST(Claims, ARankOutOfRangeIsRefused) {
  const Failure failure = refusal_of(identity_of(3, 3), [](ControlOptions&) {});
  EXPECT_EQ(failure.code, ExitCode::refused);
  EXPECT_TRUE(says(failure.message, "rank 3 on "));
  EXPECT_TRUE(says(failure.message, "count from 0 to 2"));
}

// --- one index, two processes --------------------------------------------------------------------

// H10. The first claim stands in the queue before the second is made, and beats.
TEST(Claims, ASecondProcessOfAnIndexIsRefusedBeforeTheStart) {
  Ranks ranks(3);
  ranks.options().heartbeat = 1s;  // the first is never silent for two of them
  RawRank first(ranks.port(), hello_of(1, 3));
  std::atomic<bool> ended{false};
  std::thread beating([&] {
    for (; !ended; std::this_thread::sleep_for(10ms)) first.send(control::Heartbeat{}.frame());
  });
  auto second = std::async(std::launch::async, [&] { return failure_of([&] { ranks.join(1); }); });
  auto rank_2 = std::async(std::launch::async, [&] {
    second.wait_for(20s);  // not earlier, so that the rendezvous is still open
    return ranks.join(2);
  });
  const auto channel = ranks.join(0);
  const Failure refused = second.get();
  ended = true;
  beating.join();
  EXPECT_EQ(refused.code, ExitCode::refused);
  EXPECT_TRUE(says(refused.message, "index 1 already joined, from raw"));
  first.close();
  const Loss loss = await_loss(*channel);
  EXPECT_EQ(loss.rank, 1);
  channel->leave(loss.code, loss.message);
  rank_2.get()->leave(loss.code, loss.message);
}

// T05, where the second finds the first on its own port.
TEST(Claims, ASecondIndexZeroIsToldThatItHasJoined) {
  Ranks ranks(2);
  auto first = std::async(std::launch::async, [&] { return ranks.join(0); });
  const Failure refused =
      failure_of([&] { ControlChannel::join(identity_of(0, 2), ranks.options()); });
  EXPECT_EQ(refused.code, ExitCode::refused);
  EXPECT_TRUE(says(refused.message, "index 0 already joined"));
  auto leaving = std::async(std::launch::async, [&] { ranks.join(1)->leave(ExitCode::done, ""); });
  first.get()->leave(ExitCode::done, "");
  leaving.get();
}

// And where it comes to the first's port: nobody but the first is rank 0.
TEST(Claims, NobodyTakesTheSeatOfRankZero) {
  Ranks ranks(2);
  RawRank stranger(ranks.port(), hello_of(0, 2));  // in the queue before rank 0 says its own hello
  auto first = std::async(std::launch::async, [&] { return ranks.join(0); });
  EXPECT_TRUE(says(stranger.refusal().reason, "index 0 already joined"));
  auto leaving = std::async(std::launch::async, [&] { ranks.join(1)->leave(ExitCode::done, ""); });
  first.get()->leave(ExitCode::done, "");
  leaving.get();
}

// --- before the start, a rank may come again -----------------------------------------------------

TEST(Claims, ARankThatFellSilentBeforeTheStartIsReplacedByItsNextLife) {
  Ranks ranks(3);
  RawRank silent(ranks.port(), hello_of(1, 3));  // its host is gone: no end of the connection comes
  ranks.each([&](int rank) {
    if (rank == 1) std::this_thread::sleep_for(300ms);  // more than two heartbeats
    if (rank == 2) std::this_thread::sleep_for(600ms);  // the start waits for it
    ranks.join(rank)->leave(ExitCode::done, "");
  });
}

// And it is absent, if no next life comes.
TEST(Claims, ARankThatFellSilentBeforeTheStartIsAbsent) {
  Ranks ranks(3);
  ranks.options().peer_timeout = 1s;
  ranks.options().rendezvous_timeout = 3s;
  RawRank silent(ranks.port(), hello_of(1, 3));
  const Failure failure = failure_of([&] { ranks.join(0); });
  EXPECT_TRUE(says(failure.message, "ranks 1 and 2 of 3 did not come"));
}

// --- B04: a restarted peer of a live run ---------------------------------------------------------

TEST(Claims, APeerThatRestartsWhileItsFirstLifeBeatsIsRefusedAlone) {
  Ranks ranks(2);
  ranks.options().heartbeat = 1s;
  std::array<std::unique_ptr<ControlChannel>, 2> channels;
  ranks.each([&](int rank) { channels[rank] = ranks.join(rank); });
  const Failure refused = failure_of([&] { ranks.join(1); });
  EXPECT_EQ(refused.code, ExitCode::refused);
  EXPECT_TRUE(says(refused.message, "index 1 restarted on "));
  EXPECT_TRUE(says(refused.message, "a different incarnation"));
  ranks.each([&](int rank) { channels[rank]->barrier("unharmed"); });
  ranks.each([&](int rank) { channels[rank]->leave(ExitCode::done, ""); });
}

TEST(Claims, APeerThatRestartsAfterItFellSilentEndsTheRun) {
  Ranks ranks(3);
  ranks.options().heartbeat = 500ms;   // the others are never silent for two of them
  ranks.options().peer_timeout = 60s;  // not silence alone
  RawRank first(ranks.port(), hello_of(1, 3));
  ranks.each(
      [&](int rank) {
        const auto channel = ranks.join(rank);
        if (rank == 2) {
          std::this_thread::sleep_for(1500ms);
          const Failure refused = failure_of([&] { ranks.join(1); });
          EXPECT_EQ(refused.code, ExitCode::refused);
          EXPECT_TRUE(says(refused.message, "index 1 restarted on "));
        }
        const Loss loss = await_loss(*channel);
        EXPECT_EQ(loss.rank, 1);
        EXPECT_EQ(loss.code, ExitCode::refused);
        EXPECT_TRUE(says(loss.message, "rank 1 on raw in "));
        EXPECT_TRUE(says(loss.message, "a different incarnation"));
        channel->leave(loss.code, loss.message);
      },
      {1});
}

// Killed, then started again: all end with the peer named, and the newcomer learns why, or finds
// the port closed.
TEST(Claims, APeerThatRestartsAfterItsEndIsNoMember) {
  Ranks ranks(2);
  RawRank first(ranks.port(), hello_of(1, 2));
  auto rank_0 = std::async(std::launch::async, [&] {
    const auto channel = ranks.join(0);
    const Loss loss = await_loss(*channel);
    EXPECT_EQ(loss.rank, 1);
    EXPECT_TRUE(loss.code == ExitCode::peer_lost || loss.code == ExitCode::refused);
    channel->leave(loss.code, loss.message);
  });
  EXPECT_EQ(first.next()->type, FrameType::welcome);
  first.close();
  RawRank second(ranks.port(), hello_of(1, 2, 2));
  const auto answer = second.next();
  if (answer) {
    EXPECT_TRUE(says(control::Refusal::from(*answer).reason, "rank 1 on raw in start: "));
  }
  rank_0.get();
}

// --- counted workers -----------------------------------------------------------------------------

void expect_membership(const Failure& failure, const std::string& index) {
  EXPECT_EQ(failure.code, ExitCode::membership);
  EXPECT_TRUE(says(failure.message, "the set of workers has changed"));
  EXPECT_TRUE(says(failure.message, "is index " + index + " of 3 workers, worker 0 counted 2"));
}

TEST(Claims, ALateJoinerBeforeTheStartEndsAllWhereWorkersWereCounted) {
  Ranks ranks(2);
  ranks.options().counted = true;
  auto rank_0 = std::async(std::launch::async, [&] { return failure_of([&] { ranks.join(0); }); });
  ControlOptions options = ranks.options();
  options.node = 2;
  expect_membership(failure_of([&] { ControlChannel::join(identity_of(2, 3), options); }), "2");
  expect_membership(rank_0.get(), "2");
}

TEST(Claims, WhoComesToAStartThatWasCalledOffIsToldTheSame) {
  Ranks ranks(3);
  ranks.options().counted = true;
  auto rank_0 = std::async(std::launch::async, [&] { return failure_of([&] { ranks.join(0); }); });
  RawRank late(ranks.port(), hello_of(3, 4));
  EXPECT_EQ(late.refusal().code, ExitCode::membership);
  RawRank second(ranks.port(), hello_of(1, 3));  // while rank 0 lingers
  EXPECT_EQ(second.refusal().code, ExitCode::membership);
  late.close();
  second.close();
  EXPECT_EQ(rank_0.get().code, ExitCode::membership);
}

TEST(Claims, ALateJoinerInARunEndsAllWhereWorkersWereCounted) {
  for (const int index : {1, 2}) {  // one of them is a seat of the run
    Ranks ranks(2);
    ranks.options().counted = true;
    std::array<std::unique_ptr<ControlChannel>, 2> channels;
    ranks.each([&](int rank) { channels[rank] = ranks.join(rank); });
    ControlOptions options = ranks.options();
    options.node = index;
    expect_membership(failure_of([&] { ControlChannel::join(identity_of(index, 3), options); }),
                      std::to_string(index));
    ranks.each([&](int rank) {
      const Loss loss = await_loss(*channels[rank]);
      expect_membership({loss.code, loss.rank, loss.message}, std::to_string(index));
      channels[rank]->leave(loss.code, loss.message);
    });
  }
}

}  // namespace
}  // namespace annulus
