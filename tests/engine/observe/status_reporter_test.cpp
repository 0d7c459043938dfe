// The reporter beside servers that do not answer as they should: it never holds up who made it,
// and says one line. TLS, tokens and the server's own words: status_test.py.
#include "engine/observe/status_reporter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "comm/socket.h"

namespace annulus {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Reporters : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    const std::string make_ca = fmt::format(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca "
        "-keyout {0}/ca.key -out {0}/ca.crt 2>/dev/null",
        folder_.string());
    ASSERT_EQ(std::system(make_ca.c_str()), 0);
    std::ofstream(folder_ / "token") << "a.b.c\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  StatusServer server_at(int port) const {
    return {fmt::format("https://127.0.0.1:{}/status", port), (folder_ / "ca.crt").string(),
            (folder_ / "token").string()};
  }
  StatusReporter::Warn warn() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      warnings_.push_back(line);
    };
  }
  std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

  // A reporter's only one: it has time for more tries.
  std::string only_warning_of(const StatusServer& server) {
    {
      StatusReporter reporter(server, run_, warn(), kPace);
      for (const Deadline deadline = after(60s); warnings().empty() && Clock::now() < deadline;)
        std::this_thread::sleep_for(10ms);
      std::this_thread::sleep_for(300ms);
    }
    EXPECT_EQ(warnings().size(), 1u);
    return warnings().empty() ? "" : warnings()[0];
  }

  // Of a test, not of a run.
  static constexpr StatusReporter::Pace kPace{20ms, 100ms, 100ms, 200ms};

  LiveRun run_;
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("annulus-status-" + std::to_string(::getpid()));

 private:
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

TEST_F(Reporters, AServerThatIsNotThereIsSaidOnce) {
  const int number = listen_on("127.0.0.1", 0).local_port();  // closed again
  StatusServer server = server_at(number);
  server.url.insert(std::string("https://").size(), "me:secret@");
  const std::string warning = only_warning_of(server);
  for (const char* part : {"status is not reported", "NetworkPolicy", "training goes on"})
    EXPECT_NE(warning.find(part), std::string::npos) << warning;
  for (const char* secret : {"a.b.c", "me:", "secret"})
    EXPECT_EQ(warning.find(secret), std::string::npos) << warning;
}

TEST_F(Reporters, MissingFilesAreSaidOnce) {
  std::filesystem::remove(folder_ / "token");
  const std::string warning = only_warning_of(server_at(1));
  EXPECT_NE(warning.find("token cannot be read"), std::string::npos) << warning;
  EXPECT_EQ(warning.find("NetworkPolicy"), std::string::npos) << "it is not the network";
}

TEST_F(Reporters, WhatNeverEndsIsNoToken) {
  std::filesystem::remove(folder_ / "token");
  std::filesystem::create_symlink("/dev/zero", folder_ / "token");
  const std::string warning = only_warning_of(server_at(1));
  EXPECT_NE(warning.find("is no file"), std::string::npos) << warning;
}

// It takes the connection and says nothing, for longer than the test waits.
TEST_F(Reporters, WhoeverStopsItDoesNotWaitForAServerThatHangs) {
  const Socket silent = listen_on("127.0.0.1", 0);
  StatusReporter::Pace pace = kPace;
  pace.time_limit = 600s;
  const auto begin = Clock::now();
  std::optional<Socket> taken;  // longer than the reporter: its end would be an answer
  {
    StatusReporter reporter(server_at(silent.local_port()), run_, warn(), pace);
    taken.emplace(silent.accept(after(30s)));
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_LT(Clock::now() - begin, 120s);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(Reporters, TheLastWordIsTriedOnceAndNotForEver) {
  const Socket silent = listen_on("127.0.0.1", 0);
  StatusReporter::Pace pace = kPace;
  pace.gap = 600s;  // nothing but the last word
  StatusReporter reporter(server_at(silent.local_port()), run_, warn(), pace);
  run_.finished();
  reporter.finish();
  const Socket first = silent.accept(after(30s));
  EXPECT_FALSE(silent.accept_now());
  EXPECT_EQ(warnings().size(), 1u);
}

}  // namespace
}  // namespace annulus
