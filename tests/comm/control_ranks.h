// Ranks as threads of a test: each joins over real loopback sockets, with short times.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/control.h"
#include "comm/socket.h"

namespace annulus::test {

using namespace std::chrono_literals;

// Long enough for a busy machine under a sanitizer not to lose a rank that lives.
inline ControlOptions quick_options() {
  ControlOptions options;
  options.job = "test";
  options.rendezvous_timeout = 20s;
  options.heartbeat = 50ms;
  options.peer_timeout = 10s;
  return options;
}

inline Identity identity_of(int rank, int world) {
  Identity identity;
  identity.rank = rank;
  identity.world = world;
  return identity;
}

class Ranks {
 public:
  explicit Ranks(int world, ControlOptions options = quick_options())
      : world_(world), options_(std::move(options)), listener_(listen_on("127.0.0.1", 0)) {
    options_.port = listener_.local_port();
  }

  int port() const { return options_.port; }
  ControlOptions& options() { return options_; }

  // Options of one rank; rank 0 takes the listener over.
  ControlOptions options_of(int rank) {
    ControlOptions options = options_;
    if (rank == 0) options.listener = dup(listener_.descriptor());
    return options;
  }

  // Runs body(rank) on a thread each, but for the ranks left out.
  void each(const std::function<void(int)>& body, const std::vector<int>& left_out = {}) {
    std::vector<std::thread> threads;
    for (int rank = world_ - 1; rank >= 0; --rank) {
      if (std::find(left_out.begin(), left_out.end(), rank) != left_out.end()) continue;
      threads.emplace_back([&body, rank] { body(rank); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::unique_ptr<ControlChannel> join(int rank) {
    return ControlChannel::join(identity_of(rank, world_), options_of(rank));
  }

 private:
  int world_;
  ControlOptions options_;
  Socket listener_;
};

inline ::testing::AssertionResult says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << message << "' does not say '" << part << "'";
}

// What a join or a collective threw: its code and words.
struct Failure {
  ExitCode code = ExitCode::done;
  int rank = -1;
  std::string message;
};

template <typename Call>
Failure failure_of(Call call) {
  try {
    call();
  } catch (const PeerError& error) {
    return {error.code(), error.rank(), error.what()};
  } catch (const UserError& error) {
    return {error.code(), -1, error.what()};
  }
  return {};
}

// The first loss, waited for.
inline Loss await_loss(ControlChannel& channel) {
  const Deadline deadline = after(30s);
  while (std::chrono::steady_clock::now() < deadline) {
    if (const auto loss = channel.lost()) return *loss;
    std::this_thread::sleep_for(5ms);
  }
  ADD_FAILURE() << "no loss was told";
  return {-1, ExitCode::done, ""};
}

}  // namespace annulus::test
