// TCP sockets whose every wait has a deadline. A call that cannot be done by then throws NetError,
// which says whether time ran out, the other side went away, or the system refused. Called by the
// control channel and by the CPU device's NCCL.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline after(std::chrono::milliseconds wait) {
  return std::chrono::steady_clock::now() + wait;
}

class NetError : public std::runtime_error {
 public:
  enum class Kind { timeout, closed, in_use, system };
  NetError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// Owns one descriptor: a connection or a listener. All are non-blocking and close-on-exec.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) {
      close();
      descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
  }

  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  void close();

  // All bytes or NetError.
  void send(const void* data, std::size_t bytes, Deadline deadline) const;
  void receive(void* data, std::size_t bytes, Deadline deadline) const;

  Socket accept(Deadline deadline) const;
  std::optional<Socket> accept_now() const;  // nothing where nobody waits
  std::uint16_t local_port() const;
  std::string peer_address() const;  // "10.0.0.7:41000", "[fd00::7]:41000", for messages

 private:
  int descriptor_ = -1;
};

// `address` is numeric or a name; "" listens on every address, IPv6 and IPv4. Port 0: any free one.
// A port that another socket listens on is NetError::Kind::in_use.
Socket listen_on(const std::string& address, std::uint16_t port, int backlog = 128);

// How a host is turned into numeric addresses, in the order to try them. Throws NetError with the
// reason where there are none, which connect_to takes as "not yet".
using HostLookup = std::function<std::vector<std::string>(const std::string& host, Deadline)>;

// As the system has it (getaddrinfo); a numeric address is itself.
std::vector<std::string> system_addresses(const std::string& host, Deadline deadline);

// Tries again until the deadline while the name does not resolve or nobody listens there yet. Every
// try looks the name up anew and walks all of its addresses.
Socket connect_to(const std::string& host, std::uint16_t port, Deadline deadline,
                  const HostLookup& lookup = system_addresses);

}  // namespace annulus
