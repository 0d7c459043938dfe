// The shared secret: who has it is let in, who has another or none is not, and neither side takes
// the other's word for it.
#include <gtest/gtest.h>

#include <future>

#include "comm/control.h"
#include "comm/control_secret.h"
#include "tests/comm/control_ranks.h"
#include "tests/comm/raw_rank.h"

namespace annulus {
namespace {

using namespace test;
using control::FrameType;

TEST(Secret, RanksThatShareItJoin) {
  Ranks ranks(4);
  ranks.options().secret = std::string("any\0bytes\xff", 10);
  ranks.each([&](int rank) {
    const auto channel = ranks.join(rank);
    EXPECT_EQ(channel->gather("x").size(), 4U);
    channel->leave(ExitCode::done, "");
  });
}

// What an intruder with `theirs` is told by a rank 0 with `ours`; it is in nobody's words.
std::string refusal_with(const std::string& ours, const std::string& theirs) {
  testing::internal::CaptureStderr();
  Failure failure;
  Ranks ranks(2);
  ranks.options().secret = ours;
  ranks.each([&](int rank) {
    if (rank == 1) {
      ControlOptions options = ranks.options_of(1);
      options.secret = theirs;
      failure = failure_of([&] { ControlChannel::join(identity_of(1, 2), options); });
    }
    ranks.join(rank)->leave(ExitCode::done, "");
  });
  EXPECT_EQ(failure.code, ExitCode::usage);
  EXPECT_TRUE(says(failure.message, "ANNULUS_SECRET_FILE"));
  const std::string all = failure.message + testing::internal::GetCapturedStderr();
  for (const std::string& secret : {ours, theirs})
    EXPECT_TRUE(secret.empty() || all.find(secret) == std::string::npos) << all;
  return failure.message;
}

TEST(Secret, AnotherOneIsRefused) {
  EXPECT_TRUE(says(refusal_with("lion", "tiger"), "its secret is another one than rank 0's"));
}

TEST(Secret, NoneIsRefusedByARankZeroThatHasOne) {
  EXPECT_TRUE(says(refusal_with("lion", ""), "rank 0 has a secret, it has none"));
}

TEST(Secret, OneIsRefusedByARankZeroThatHasNone) {
  EXPECT_TRUE(says(refusal_with("", "tiger"), "it has a secret, rank 0 has none"));
}

// A rank 0 that welcomes without the secret, whether or not it goes through the motions.
TEST(Secret, ARankZeroWithoutItWelcomesNobody) {
  for (const bool challenges : {false, true}) {
    const Socket listener = listen_on("127.0.0.1", 0);
    ControlOptions options = quick_options();
    options.port = listener.local_port();
    options.secret = "lion";
    auto impostor = std::async(std::launch::async, [&] {
      control::Connection connection(listener.accept(after(20s)), control::hello_limit);
      if (challenges)
        connection.send(control::Challenge{std::string(control::challenge_bytes, 'c')}.frame());
      connection.send(control::Welcome{"impostor", "g", std::string(32, 'p')}.frame());
      std::this_thread::sleep_for(500ms);
    });
    const Failure failure = failure_of([&] { ControlChannel::join(identity_of(1, 2), options); });
    EXPECT_EQ(failure.code, ExitCode::usage);
    EXPECT_TRUE(says(failure.message, "does not have the secret of rank 1"));
    impostor.get();
  }
}

TEST(Secret, AProofIsOfThisChallengeAndThisHelloAndThisSide) {
  using namespace control;
  const std::string proof = proof_of_rank("lion", "challenge", "hello");
  EXPECT_EQ(proof.size(), 32U);
  EXPECT_EQ(proof, proof_of_rank("lion", "challenge", "hello"));
  EXPECT_NE(proof, proof_of_rank("tiger", "challenge", "hello"));
  EXPECT_NE(proof, proof_of_rank("lion", "other", "hello"));
  EXPECT_NE(proof, proof_of_rank("lion", "challenge", "hallo"));
  EXPECT_NE(proof, proof_of_rank_0("lion", "challenge", "hello"));
  EXPECT_NE(new_challenge(), new_challenge());
  EXPECT_FALSE(same_proof(proof, proof.substr(1)));
}

// What was proved once cannot be proved again by another connection.
TEST(Secret, AProofThatWasOverheardIsOfNoUse) {
  Ranks ranks(2);
  ranks.options().secret = "lion";
  auto rank_0 = std::async(std::launch::async, [&] { return ranks.join(0); });
  control::Hello hello = hello_of(1, 2);
  hello.has_secret = true;
  RawRank honest(ranks.port(), hello);
  const auto challenge = control::Challenge::from(*honest.next());
  const control::Proof proof{
      control::proof_of_rank("lion", challenge.bytes, hello.frame().payload)};
  RawRank thief(ranks.port(), hello);
  EXPECT_EQ(thief.next()->type, FrameType::challenge);
  thief.send(proof.frame());
  EXPECT_EQ(thief.refusal().code, ExitCode::usage);
  honest.send(proof.frame());
  EXPECT_EQ(honest.next()->type, FrameType::welcome);
  honest.send(control::Leave{}.frame());
  rank_0.get()->leave(ExitCode::done, "");
}

}  // namespace
}  // namespace annulus
