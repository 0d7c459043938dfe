// Rank 0 looks for itself where its peers look for it: it finds itself, nobody yet, or another rank
// 0, which is told to whoever came to the wrong one. The case T05 on two hosts.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <future>
#include <optional>

#include "comm/control_applicant.h"
#include "comm/control_hub.h"
#include "comm/control_mirror.h"
#include "tests/comm/control_ranks.h"
#include "tests/comm/raw_rank.h"

namespace annulus {
namespace {

using namespace test;
using control::Hub;
using control::Mirror;
using control::Refusal;

// Rank 0 of two, behind a port, with nobody but itself to talk to.
class RankZero {
 public:
  RankZero() : own_(hello_of(0, 2, 7)) {
    std::array<int, 2> ends{};
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data());
    connection_.emplace(Socket(ends[0]), control::answer_limit);
    Socket listener = listen_on("127.0.0.1", 0);
    options_.port = listener.local_port();
    hub_.emplace(std::move(listener), Socket(ends[1]), own_, options_);
  }
  const control::Hello& hello() const { return own_; }
  const ControlOptions& options() const { return options_; }
  Hub& hub() { return *hub_; }
  Failure failure() {
    return failure_of([&] { control::Applicant(own_, options_).apply(*connection_, after(20s)); });
  }

 private:
  control::Hello own_;
  ControlOptions options_ = quick_options();
  std::optional<control::Connection> connection_;
  std::optional<Hub> hub_;
};

TEST(Mirror, AnotherRankZeroIsToldToWhoeverLooksForItself) {
  RankZero first;
  const control::Hello second = hello_of(0, 2, 8);
  std::promise<Refusal> told;
  const Mirror mirror(second, first.options(),
                      [&](const Refusal& refusal) { told.set_value(refusal); });
  const Refusal refusal = told.get_future().get();
  EXPECT_EQ(refusal.code, ExitCode::refused);
  EXPECT_TRUE(says(refusal.reason, "index 0 already joined"));
}

TEST(Mirror, WhoFindsItselfIsToldNothing) {
  RankZero first;
  const Mirror mirror(first.hello(), first.options(),
                      [](const Refusal& refusal) { ADD_FAILURE() << refusal.reason; });
  std::this_thread::sleep_for(300ms);
}

TEST(Mirror, ItEndsSoonWhereNobodyAnswers) {
  ControlOptions options = quick_options();
  { options.port = listen_on("127.0.0.1", 0).local_port(); }
  const auto began = std::chrono::steady_clock::now();
  {
    const Mirror mirror(hello_of(0, 2), options, [](const Refusal&) { ADD_FAILURE(); });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 3s);
}

TEST(Mirror, ARankZeroThatStepsDownTellsAllWhoCame) {
  RankZero second;
  RawRank lost(second.options().port, hello_of(1, 2));
  second.hub().step_down({ExitCode::refused, "index 0 already joined elsewhere"});
  const Failure failure = second.failure();
  EXPECT_EQ(failure.code, ExitCode::refused);
  EXPECT_TRUE(says(failure.message, "index 0 already joined elsewhere"));
  EXPECT_EQ(lost.refusal().code, ExitCode::refused);
}

}  // namespace
}  // namespace annulus
