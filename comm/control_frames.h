// Frames of the control channel: a fixed header (magic, protocol version, type, length) and a
// payload of numbers and texts, all little-endian. The layout: docs/protocol.md. Invariant: bytes
// that are no frame are told apart at the first wrong byte, and memory is taken only for bytes that
// have come and fit the limit. Called by comm/control_connection and comm/control_messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace annulus::control {

constexpr std::string_view magic = "anls";
constexpr std::uint16_t protocol_version = 2;
constexpr std::size_t header_bytes = 12;
constexpr std::size_t hello_limit = 32 << 10;   // payload of somebody not yet let in
constexpr std::size_t answer_limit = 64 << 10;  // payload of rank 0's answer to a hello
constexpr std::size_t member_limit = 64 << 20;  // payload of a rank of this run

enum class FrameType : std::uint16_t {
  // to rank 0
  hello = 1,
  contribution = 2,  // to a collective
  leave = 3,
  proof = 4,  // that the sender has the secret: the answer to a challenge
  // both ways
  heartbeat = 8,
  // from rank 0
  welcome = 16,
  refusal = 17,  // its layout and the header's stay the same in all protocol versions
  result = 18,   // of a collective
  loss = 19,
  challenge = 20,  // the answer to a hello where rank 0 has a secret
  waiting = 21,    // the rendezvous goes on: who is absent
  farewell = 22,   // all ranks have left as done
};

struct Frame {
  FrameType type;
  std::string payload;
};

// The bytes are no frame of this protocol.
class BadFrame : public std::runtime_error {
 public:
  enum class Kind { stranger, version, malformed };
  BadFrame(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

std::string encode(const Frame& frame);

// Collects the bytes of one connection and cuts them into frames.
class FrameBuffer {
 public:
  explicit FrameBuffer(std::size_t payload_limit) : limit_(payload_limit) {}
  void set_limit(std::size_t payload_limit) { limit_ = payload_limit; }

  // How many more bytes are wanted before next() is asked again: no frame needs more.
  std::size_t room() const;
  void append(std::string_view bytes);
  std::optional<Frame> next();  // throws BadFrame

 private:
  std::string bytes_;
  std::size_t taken_ = 0;  // bytes of bytes_ that next() has returned
  std::size_t limit_;
};

// The fields of a payload, in order.
class FieldWriter {
 public:
  FieldWriter& number(std::uint64_t value);
  FieldWriter& text(std::string_view value);
  FieldWriter& texts(const std::vector<std::string>& values);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Throws BadFrame where fields are missing or too many.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t number();
  std::string text();
  std::vector<std::string> texts();
  void end() const;

 private:
  std::string_view take(std::size_t count);
  std::string_view bytes_;
};

}  // namespace annulus::control
