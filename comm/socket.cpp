// TCP sockets with deadlines, over non-blocking descriptors and poll(2). Invariant: no call blocks
// in the kernel but poll, whose time is bounded by the caller's deadline; no call raises SIGPIPE,
// and a signal interrupts none. The interface and who calls it: comm/socket.h.
#include "comm/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

namespace annulus {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// An address is not waited for longer; one of several less long, so that a dead one is soon
// followed by the next.
constexpr milliseconds longest_attempt{3'000}, longest_attempt_of_several{1'000};
constexpr milliseconds first_pause{10}, longest_pause{500};

std::string words(int error) { return std::generic_category().message(error); }

[[noreturn]] void throw_system(const std::string& what, int error) {
  throw NetError(NetError::Kind::system, fmt::format("{}: {}", what, words(error)));
}

milliseconds remaining(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  return std::clamp(left, milliseconds{0}, milliseconds{std::chrono::hours{1}});
}

// False when time ran out first.
bool wait_for(int descriptor, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{descriptor, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(remaining(deadline).count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw_system("poll", errno);
    if (steady_clock::now() >= deadline) return false;
  }
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

void turn_off_nagle(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::string numeric_host(const Address& address) {
  std::array<char, NI_MAXHOST> host{};
  return getnameinfo(address.get(), address.length, host.data(), host.size(), nullptr, 0,
                     NI_NUMERICHOST) == 0
             ? host.data()
             : "";
}

// "10.0.0.7:41000", "[fd00::7]:41000"; an IPv4 address behind an IPv6 listener is shown as IPv4.
std::string address_text(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  std::string name = host.data();
  if (name.starts_with("::ffff:") && name.find('.') != std::string::npos) name.erase(0, 7);
  const bool ipv6 = name.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", name, port.data()) : fmt::format("{}:{}", name, port.data());
}

struct Resolved {
  std::vector<Address> addresses;
  std::string failure;  // the resolver's words where there are no addresses
};

Resolved resolve_now(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string service = std::to_string(port);
  const int status =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &list);
  if (status != 0)
    return {{}, status == EAI_SYSTEM ? words(errno) : std::string(gai_strerror(status))};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  Resolved resolved;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    Address& address = resolved.addresses.emplace_back();
    std::copy_n(reinterpret_cast<const char*>(entry->ai_addr), entry->ai_addrlen,
                reinterpret_cast<char*>(&address.storage));
    address.length = entry->ai_addrlen;
  }
  return resolved;
}

// getaddrinfo knows no deadline, so a name is looked up on a thread of its own, which is left
// behind when it takes too long.
Resolved resolve(const std::string& host, Deadline deadline) {
  const auto promise = std::make_shared<std::promise<Resolved>>();
  std::future<Resolved> answer = promise->get_future();
  std::thread([promise, host] { promise->set_value(resolve_now(host, 0, 0)); }).detach();
  if (answer.wait_until(deadline) == std::future_status::ready) return answer.get();
  return {{}, "the resolver gave no answer"};
}

Socket new_socket(int family) {
  return Socket(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// 0 or an errno.
int try_to_listen(const Socket& socket, const Address& address, int backlog) {
  const int on = 1, off = 0;
  if (!socket) return errno;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.get()->sa_family == AF_INET6)
    setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(socket.descriptor(), address.get(), address.length) != 0) return errno;
  return listen(socket.descriptor(), backlog) == 0 ? 0 : errno;
}

// Where nobody listens yet on a port of the ephemeral range, the kernel may pick that same port for
// our end and connect the socket to itself.
bool connected_to_itself(int descriptor) {
  Address near, far;
  near.length = far.length = sizeof(sockaddr_storage);
  return getsockname(descriptor, reinterpret_cast<sockaddr*>(&near.storage), &near.length) == 0 &&
         getpeername(descriptor, reinterpret_cast<sockaddr*>(&far.storage), &far.length) == 0 &&
         address_text(near.get(), near.length) == address_text(far.get(), far.length);
}

// 0 or an errno.
int try_to_connect(const Socket& socket, const Address& address, Deadline deadline) {
  if (!socket) return errno;
  const int descriptor = socket.descriptor();
  if (connect(descriptor, address.get(), address.length) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (!wait_for(descriptor, POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return error;
  }
  return connected_to_itself(descriptor) ? ECONNREFUSED : 0;
}

struct Attempt {
  Socket socket;
  std::string failure;  // why there is none
};

// Every address of the host, once.
Attempt connect_once(const std::string& host, std::uint16_t port, Deadline deadline,
                     const HostLookup& lookup) {
  std::vector<std::string> addresses;
  try {
    addresses = lookup(host, deadline);
  } catch (const NetError& error) {
    return {{}, error.what()};
  }
  const milliseconds patience = addresses.size() > 1 ? longest_attempt_of_several : longest_attempt;
  std::string failure = "the host has no address";
  for (const std::string& numeric : addresses)
    for (const Address& address : resolve_now(numeric, port, AI_NUMERICHOST).addresses) {
      Socket socket = new_socket(address.get()->sa_family);
      const int error = try_to_connect(socket, address, std::min(deadline, after(patience)));
      if (error == 0) {
        turn_off_nagle(socket.descriptor());
        return {std::move(socket), ""};
      }
      failure = words(error);
      if (numeric != host)
        failure = fmt::format("{}: {}", address_text(address.get(), address.length), failure);
    }
  return {{}, failure};
}

}  // namespace

void Socket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void Socket::send(const void* data, std::size_t bytes, Deadline deadline) const {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(descriptor_, next, bytes, MSG_NOSIGNAL);
    if (sent >= 0) {
      next += sent;
      bytes -= static_cast<std::size_t>(sent);
    } else if (would_block(errno)) {
      if (!wait_for(descriptor_, POLLOUT, deadline))
        throw NetError(NetError::Kind::timeout,
                       fmt::format("{} took no more data in time", peer_address()));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      throw NetError(NetError::Kind::closed,
                     fmt::format("the other side went away: {}", words(errno)));
    } else if (errno != EINTR) {
      throw_system("cannot send", errno);
    }
  }
}

void Socket::receive(void* data, std::size_t bytes, Deadline deadline) const {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t received = recv(descriptor_, next, bytes, 0);
    if (received > 0) {
      next += received;
      bytes -= static_cast<std::size_t>(received);
    } else if (received == 0 || errno == ECONNRESET) {
      throw NetError(NetError::Kind::closed, "the other side closed the connection");
    } else if (would_block(errno)) {
      if (!wait_for(descriptor_, POLLIN, deadline))
        throw NetError(NetError::Kind::timeout,
                       fmt::format("{} sent nothing in time", peer_address()));
    } else if (errno != EINTR) {
      throw_system("cannot receive", errno);
    }
  }
}

std::optional<Socket> Socket::accept_now() const {
  for (;;) {
    Socket accepted(accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (accepted) {
      turn_off_nagle(accepted.descriptor());
      return accepted;
    }
    if (would_block(errno)) return std::nullopt;
    // What went wrong with one connection before it was ours does not concern the listener.
    if (errno != EINTR && errno != ECONNABORTED && errno != EPROTO)
      throw_system("cannot accept a connection", errno);
  }
}

Socket Socket::accept(Deadline deadline) const {
  for (;;) {
    if (std::optional<Socket> accepted = accept_now()) return std::move(*accepted);
    if (!wait_for(descriptor_, POLLIN, deadline))
      throw NetError(NetError::Kind::timeout, "nobody connected in time");
  }
}

std::uint16_t Socket::local_port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw_system("cannot tell a socket's port", errno);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string Socket::peer_address() const {
  Address address;
  address.length = sizeof address.storage;
  if (getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0)
    return "a peer that is gone";
  return address_text(address.get(), address.length);
}

Socket listen_on(const std::string& address, std::uint16_t port, int backlog) {
  const std::string where = fmt::format("{}:{}", address.empty() ? "*" : address, port);
  Resolved resolved = resolve_now(address, port, AI_PASSIVE);
  if (resolved.addresses.empty())
    throw NetError(NetError::Kind::system,
                   fmt::format("cannot listen on {}: {}", where, resolved.failure));
  // An IPv6 socket on "*" takes IPv4 too; IPv4 alone is for machines without IPv6.
  std::stable_sort(resolved.addresses.begin(), resolved.addresses.end(),
                   [](const Address& a, const Address& b) {
                     return a.get()->sa_family == AF_INET6 && b.get()->sa_family != AF_INET6;
                   });
  int error = 0;
  for (const Address& candidate : resolved.addresses) {
    Socket socket = new_socket(candidate.get()->sa_family);
    error = try_to_listen(socket, candidate, backlog);
    if (error == 0) return socket;
    // Half of the addresses would be another's: peers would reach now the one, now the other.
    if (error == EADDRINUSE)
      throw NetError(NetError::Kind::in_use, fmt::format("port {} in use on {}", port, where));
  }
  throw_system(fmt::format("cannot listen on {}", where), error);
}

std::vector<std::string> system_addresses(const std::string& host, Deadline deadline) {
  if (!resolve_now(host, 0, AI_NUMERICHOST).addresses.empty()) return {host};
  const Resolved resolved = resolve(host, deadline);
  if (resolved.addresses.empty()) throw NetError(NetError::Kind::system, resolved.failure);
  std::vector<std::string> addresses;
  for (const Address& address : resolved.addresses) addresses.push_back(numeric_host(address));
  return addresses;
}

Socket connect_to(const std::string& host, std::uint16_t port, Deadline deadline,
                  const HostLookup& lookup) {
  std::string failure;
  for (milliseconds pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    Attempt attempt = connect_once(host, port, deadline, lookup);
    if (attempt.socket) return std::move(attempt.socket);
    // One that the deadline cut off tells less than one that came to its end.
    if (failure.empty() || remaining(deadline).count() > 0) failure = std::move(attempt.failure);
    if (remaining(deadline).count() == 0) break;
    std::this_thread::sleep_for(std::min(pause, remaining(deadline)));
  }
  throw NetError(NetError::Kind::timeout,
                 fmt::format("cannot connect to {}:{} in time: {}", host, port, failure));
}

}  // namespace annulus
