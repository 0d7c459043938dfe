// Waiting: people are told for whom, the deadline names the absent on every rank, and nothing that
// is not a handshake counts as success. The cases B09, B10, B14, B15 and D14.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/control.h"
#include "tests/comm/control_ranks.h"
#include "tests/comm/raw_rank.h"

namespace annulus {
namespace {

using namespace test;

class Lines {
 public:
  std::function<void(const std::string&)> sink() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// --- the absent ----------------------------------------------------------------------------------

// B10: three of four.
TEST(Waiting, TheAbsentAreNamedOnAllWhoCame) {
  Ranks ranks(4);
  ranks.options().rendezvous_timeout = 3s;
  ranks.options().absent = [](const std::vector<int>& absent) {
    EXPECT_EQ(absent, std::vector<int>{3});
    return std::string("cifar-node-0-3 (NXDOMAIN)");
  };
  std::array<Lines, 4> lines;
  ranks.each(
      [&](int rank) {
        ControlOptions options = ranks.options_of(rank);
        options.progress = lines[rank].sink();
        const Failure failure =
            failure_of([&] { ControlChannel::join(identity_of(rank, 4), options); });
        EXPECT_EQ(failure.code, ExitCode::rendezvous);
        EXPECT_TRUE(says(failure.message,
                         "rank 3 of 4 did not come to rank 0 within 3 s (cifar-node-0-3 "
                         "(NXDOMAIN)): see their logs"));
      },
      {3});
  for (const int rank : {0, 1, 2}) {
    const auto told = lines[rank].all();
    ASSERT_EQ(told.size(), 1U) << "rank " << rank;
    EXPECT_TRUE(says(told[0], "discovery: 3 of 4 workers after 2 s, missing cifar-node-0-3"));
  }
}

TEST(Waiting, AWorkerIsThereWhenAllItsRanksAre) {
  Ranks ranks(4);
  ranks.options().local_ranks = 2;
  ranks.options().rendezvous_timeout = 3s;
  Lines lines;
  ranks.options().progress = lines.sink();
  ranks.each([&](int rank) { failure_of([&] { ranks.join(rank); }); }, {2, 3});
  ASSERT_FALSE(lines.all().empty());
  EXPECT_TRUE(says(lines.all()[0], "discovery: 1 of 2 workers after 2 s, missing ranks 2 and 3"));
}

TEST(Waiting, ManyAbsentAreAShortLine) {
  Ranks ranks(1000);
  ranks.options().rendezvous_timeout = 300ms;
  const Failure failure = failure_of([&] { ranks.join(0); });
  EXPECT_TRUE(says(failure.message, "ranks 1, 2, 3, 4, 5, 6, 7 and 992 more of 1000 did not come"));
}

// A rank whose own deadline comes before rank 0's knows from rank 0 who is absent.
TEST(Waiting, ARankThatGivesUpBeforeRankZeroNamesTheAbsentToo) {
  Ranks ranks(3);
  std::thread rank_0([&] {
    ControlOptions options = ranks.options_of(0);
    options.rendezvous_timeout = 6s;
    failure_of([&] { ControlChannel::join(identity_of(0, 3), options); });
  });
  ControlOptions options = ranks.options_of(1);
  options.rendezvous_timeout = 1s;
  const Failure failure = failure_of([&] { ControlChannel::join(identity_of(1, 3), options); });
  EXPECT_EQ(failure.code, ExitCode::rendezvous);
  EXPECT_TRUE(says(failure.message, "it still waits: 2 of 3 workers after 2 s, missing rank 2"));
  rank_0.join();
}

// --- rank 0 late ---------------------------------------------------------------------------------

// B09 and D14: refused connections are no failure, and people are told what is awaited.
TEST(Waiting, ALateRankZeroIsWaitedFor) {
  ControlOptions options = quick_options();
  { options.port = listen_on("127.0.0.1", 0).local_port(); }
  std::array<Lines, 2> lines;
  std::vector<std::thread> others;
  for (const int rank : {1, 2})
    others.emplace_back([&, rank] {
      ControlOptions mine = options;
      mine.progress = lines[rank - 1].sink();
      ControlChannel::join(identity_of(rank, 3), mine)->leave(ExitCode::done, "");
    });
  std::this_thread::sleep_for(3s);
  ControlChannel::join(identity_of(0, 3), options)->leave(ExitCode::done, "");
  for (std::thread& other : others) other.join();
  for (const Lines& of_rank : lines) {
    ASSERT_EQ(of_rank.all().size(), 1U);
    EXPECT_TRUE(
        says(of_rank.all()[0], "discovery: rank 0 is awaited: cannot connect to 127.0.0.1:" +
                                   std::to_string(options.port)));
    EXPECT_TRUE(says(of_rank.all()[0], "Connection refused"));
  }
}

// B15.
TEST(Waiting, AttemptsLeaveNoDescriptorsBehind) {
  ControlOptions options = quick_options();
  { options.port = listen_on("127.0.0.1", 0).local_port(); }
  options.rendezvous_timeout = 2s;
  const std::size_t before = open_descriptors();
  std::size_t most = 0;
  std::atomic<bool> ended{false};
  std::thread watch([&] {
    for (; !ended; std::this_thread::sleep_for(1ms)) most = std::max(most, open_descriptors());
  });
  const Failure failure = failure_of([&] { ControlChannel::join(identity_of(1, 2), options); });
  ended = true;
  watch.join();
  EXPECT_EQ(failure.code, ExitCode::rendezvous);
  EXPECT_LE(most, before + 4);  // the attempt, and the folder that is looked at
  EXPECT_EQ(open_descriptors(), before);
}

// --- a side-car in between -----------------------------------------------------------------------

// Accepts and resets, until it is told to forward.
class SideCar {
 public:
  explicit SideCar(int behind) : behind_(behind), thread_([this] { serve(); }) {}
  ~SideCar() {
    ended_ = true;
    thread_.join();
  }
  int port() const { return listener_.local_port(); }
  int resets() const { return resets_; }
  void forward() { forwards_ = true; }

 private:
  void serve() {
    while (!ended_) {
      std::optional<Socket> client = listener_.accept_now();
      if (!client) {
        std::this_thread::sleep_for(5ms);
      } else if (!forwards_) {
        char byte = 0;
        client->receive(&byte, 1,
                        after(20s));  // a hello begins: a bare connection looks like success
        close_by_reset(std::move(*client));
        ++resets_;
      } else {
        relay(*client);
      }
    }
  }
  void relay(const Socket& client) const {
    const Socket server = knock(behind_);
    while (copy(client, server) && copy(server, client) && !ended_)
      std::this_thread::sleep_for(1ms);
  }
  static bool copy(const Socket& from, const Socket& to) {
    std::array<char, 4096> bytes;
    const ssize_t count = recv(from.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0) return true;
    if (count > 0) to.send(bytes.data(), static_cast<std::size_t>(count), after(20s));
    return count > 0;
  }

  const int behind_;
  const Socket listener_ = listen_on("127.0.0.1", 0);
  std::atomic<bool> forwards_{false}, ended_{false};
  std::atomic<int> resets_{0};
  std::thread thread_;
};

// B14.
TEST(Waiting, ASideCarThatResetsIsTriedAgainUntilItForwards) {
  Ranks ranks(2);
  SideCar side_car(ranks.port());
  std::thread rank_1([&] {
    ControlOptions options = ranks.options();
    options.port = side_car.port();
    const auto channel = ControlChannel::join(identity_of(1, 2), options);
    channel->barrier("through it");
    channel->leave(ExitCode::done, "");
  });
  while (side_car.resets() < 3) std::this_thread::sleep_for(5ms);
  side_car.forward();
  const auto channel = ranks.join(0);
  channel->barrier("through it");
  channel->leave(ExitCode::done, "");
  rank_1.join();
}

TEST(Waiting, ASideCarThatResetsUntilTheDeadlineIsNamed) {
  Ranks ranks(2);
  SideCar side_car(ranks.port());
  ControlOptions options = ranks.options();
  options.port = side_car.port();
  options.rendezvous_timeout = 1s;
  const Failure failure = failure_of([&] { ControlChannel::join(identity_of(1, 2), options); });
  EXPECT_EQ(failure.code, ExitCode::rendezvous);
  EXPECT_TRUE(says(failure.message, "closed without an answer"));
  EXPECT_TRUE(says(failure.message, R"(sidecar.istio.io/inject: "false")"));
}

}  // namespace
}  // namespace annulus
