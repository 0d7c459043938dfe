// Strangers at rank 0's port: whatever they send, and however many they are, the run starts, rank 0
// does not grow, and its log does not fill. The cases B01 and B02.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "comm/control.h"
#include "tests/comm/control_ranks.h"
#include "tests/comm/raw_rank.h"

namespace annulus {
namespace {

using namespace test;

#if defined(ANNULUS_ASAN) || defined(ANNULUS_TSAN)
constexpr bool memory_is_ours = false;  // sanitizers keep what was freed, and shadows of all
#else
constexpr bool memory_is_ours = true;
#endif

double resident_mebibytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

std::size_t descriptors_to_be_had() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Rank 0 waits for rank 1 while `disturb` runs; then the run starts, and rank 0 has grown by less
// than `most` MiB. Returns what rank 0 noted.
std::string disturbed(const std::function<void(int port)>& disturb, double most,
                      const std::string& secret = "") {
  testing::internal::CaptureStderr();
  Ranks ranks(2);
  ranks.options().rendezvous_timeout = 120s;
  ranks.options().secret = secret;
  std::thread rank_0([&] { ranks.join(0)->leave(ExitCode::done, ""); });
  knock(ranks.port()).close();  // rank 0 is up
  const double before = resident_mebibytes();
  disturb(ranks.port());
  ranks.join(1)->leave(ExitCode::done, "");
  rank_0.join();
  if (memory_is_ours) {
    EXPECT_LT(resident_mebibytes() - before, most);
  }
  return testing::internal::GetCapturedStderr();
}

// Sends it, and waits until rank 0 hangs up. True where nothing was answered.
bool hung_up_on_after(int port, const std::string& opening) {
  const Socket stranger = knock(port);
  char byte = 0;
  try {
    stranger.send(opening.data(), opening.size(), after(20s));
    stranger.receive(&byte, 1, after(6s));  // before silence alone would be its end
    return false;
  } catch (const NetError& error) {
    return error.kind() == NetError::Kind::closed;
  }
}

// --- one after another ---------------------------------------------------------------------------

TEST(Strangers, WhoComeAndGoAreNotEvenNoted) {
  const std::string notes = disturbed(
      [](int port) {
        for (int i = 0; i < 20; ++i) {
          knock(port).close();
          close_by_reset(knock(port));
        }
      },
      8);
  EXPECT_EQ(notes, "");
}

TEST(Strangers, WhoSpeakAnotherLanguageAreHungUpOnAtOnce) {
  std::string oversize = control::encode({control::FrameType::hello, ""});
  oversize.replace(8, 4, "\xff\xff\xff\x7f");
  std::string with_control_characters = control::encode(
      control::Hello{.job = "\x1b[2J", .rank = 1, .world = 2, .nonce = 1, .host = "x"}.frame());
  const std::vector<std::string> openings{
      "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
      std::string("\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03", 11),  // a TLS ClientHello begins
      std::string(64, '\xff'),
      std::string(1 << 20, 'r'),
      oversize,
      control::encode({control::FrameType::hello, "no fields"}),
      control::encode({control::FrameType::welcome, ""}),
      with_control_characters,
  };
  const std::string notes = disturbed(
      [&](int port) {
        for (int round = 0; round < 20; ++round)
          for (const std::string& opening : openings)
            EXPECT_TRUE(hung_up_on_after(port, opening)) << opening.substr(0, 20);
      },
      8);
  EXPECT_EQ(lines_in(notes), 1U) << notes;
  EXPECT_TRUE(says(notes, "was sent away: what it sends is not Annulus's control protocol"));
}

// The probes of ../shared, against the port of a rank 0 that waits.
TEST(Strangers, TheProbesOfTheCases) {
  const char* shared = std::getenv("ANNULUS_SHARED");
  const std::string probe = std::string(shared ? shared : "") + "/cases/gen/probe_bootstrap.py";
  if (!shared || access(probe.c_str(), R_OK) != 0) GTEST_SKIP() << "skipped: no ../shared";
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "skipped: no python3";
  const std::string notes = disturbed(
      [&](int port) {
        for (const char* mode : {"close 20", "rst 20", "http", "ff", "tls", "rand"}) {
          const std::string command = "python3 " + probe + " 127.0.0.1 " + std::to_string(port) +
                                      " " + mode + " >/dev/null";
          EXPECT_EQ(std::system(command.c_str()), 0) << mode;
        }
      },
      8);
  EXPECT_LE(lines_in(notes), 1U) << notes;
}

// --- many ----------------------------------------------------------------------------------------

TEST(Strangers, TenThousandIdleConnectionsKeepNobodyOut) {
  const std::size_t room = descriptors_to_be_had();
  const std::size_t count = std::min<std::size_t>(10'000, room > 2'000 ? room - 1'500 : 500);
  std::vector<Socket> held;
  held.reserve(count);
  disturbed(
      [&](int port) {
        for (std::size_t i = 0; i < count; ++i) {
          held.push_back(knock(port));
          if (i % 2 == 1) held.back().send("anl", 3, after(20s));  // half a hello
        }
        EXPECT_LT(open_descriptors(), count + 500);  // rank 0 keeps few of its ends
      },
      64);
}

TEST(Strangers, AFloodOfWrongSecretsKeepsNobodyOut) {
  std::atomic<bool> flooding{true};
  std::vector<std::thread> flood;
  std::atomic<int> refused{0};
  const std::string notes = disturbed(
      [&](int port) {
        for (int i = 0; i < 4; ++i)
          flood.emplace_back([&, port] {
            control::Hello hello = hello_of(1, 2);
            hello.has_secret = true;
            hello.facts.push_back({"padding", std::string(30'000, 'x')});
            while (flooding) try {
                RawRank liar(port, hello, 1s);
                if (!liar.next()) continue;  // seen off for another
                liar.send(control::Proof{std::string(32, 'x')}.frame());
                liar.next();
                ++refused;
              } catch (const NetError&) {
              }
          });
        while (refused < 500) std::this_thread::sleep_for(5ms);
      },
      64, "lion");
  flooding = false;
  for (std::thread& thread : flood) thread.join();
  EXPECT_EQ(lines_in(notes), 1U) << notes;
}

// Hellos that stop before their proof, more than there is room for.
TEST(Strangers, HellosThatProveNothingKeepNobodyOut) {
  std::vector<std::unique_ptr<RawRank>> held;
  disturbed(
      [&](int port) {
        control::Hello hello = hello_of(1, 2);
        hello.has_secret = true;
        hello.facts.push_back({"padding", std::string(30'000, 'x')});
        for (int i = 0; i < 1500; ++i) held.push_back(std::make_unique<RawRank>(port, hello));
      },
      40, "lion");
}

// In a run they are as harmless as before it.
TEST(Strangers, DisturbNoRun) {
  Ranks ranks(2);
  std::thread rank_1([&] {
    const auto channel = ranks.join(1);
    for (int round = 0; round < 20; ++round) channel->barrier("round");
    channel->leave(ExitCode::done, "");
  });
  const auto channel = ranks.join(0);
  std::vector<Socket> held;
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(hung_up_on_after(ranks.port(), "GET / HTTP/1.1\r\n\r\n"));
    for (int i = 0; i < 30; ++i) held.push_back(knock(ranks.port()));
    channel->barrier("round");
  }
  channel->leave(ExitCode::done, "");
  rank_1.join();
}

}  // namespace
}  // namespace annulus
