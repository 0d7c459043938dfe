// A rank made of frames: it says what a test wants, when the test wants it, and shows what comes.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <optional>
#include <string>

#include "comm/control_connection.h"
#include "comm/control_messages.h"
#include "comm/socket.h"

namespace annulus::test {

inline control::Hello hello_of(int rank, int world, std::uint64_t nonce = 1) {
  control::Hello hello;
  hello.job = "test";
  hello.rank = static_cast<std::uint64_t>(rank);
  hello.world = static_cast<std::uint64_t>(world);
  hello.node = hello.rank;
  hello.nonce = nonce;
  hello.host = "raw";
  return hello;
}

inline Socket knock(int port, std::chrono::seconds patience = std::chrono::seconds{20}) {
  return connect_to("127.0.0.1", static_cast<std::uint16_t>(port), after(patience));
}

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

// Closed with a reset instead of an end.
inline void close_by_reset(Socket socket) {
  const linger now{1, 0};
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

class RawRank {
 public:
  RawRank(int port, const control::Hello& hello,
          std::chrono::seconds patience = std::chrono::seconds{20})
      : connection_(knock(port, patience), control::answer_limit) {
    send(hello.frame());
  }

  void send(const control::Frame& frame) { connection_.send(frame); }
  void close() { connection_.close(); }

  // The next frame that is no heartbeat; nothing at the end of the connection, or after 20 s.
  std::optional<control::Frame> next() {
    const Deadline deadline = after(std::chrono::seconds{20});
    while (std::chrono::steady_clock::now() < deadline) {
      while (auto frame = connection_.next_frame())
        if (frame->type != control::FrameType::heartbeat) return frame;
      if (!connection_.open()) return std::nullopt;
      pollfd entry = connection_.poll_entry();
      control::poll_all(&entry, 1, std::chrono::milliseconds{50});
      connection_.receive();
    }
    ADD_FAILURE() << "no frame comes";
    return std::nullopt;
  }
  control::Refusal refusal() {
    const auto frame = next();
    return frame ? control::Refusal::from(*frame) : control::Refusal{ExitCode::done, "hung up on"};
  }

 private:
  control::Connection connection_;
};

}  // namespace annulus::test
