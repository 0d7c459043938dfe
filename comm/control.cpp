// The rendezvous as each rank sees it: connect to rank 0, say hello, be welcomed or refused. On
// rank 0 the hub is started first, and the rank talks to it over a socket pair. The interface and
// who calls it: comm/control.h.
#include "comm/control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <random>
#include <thread>
#include <utility>

#include "comm/control_hub.h"
#include "comm/control_member.h"
#include "comm/host_lookup.h"

namespace annulus {
namespace {

using namespace control;
using std::chrono::milliseconds;

// Rank 0 gives the rendezvous up first, because it can name who is absent.
constexpr milliseconds slack{2'000};
constexpr milliseconds pause_between_attempts{100};

// Rank 0: the hub outlives the member, which leaves first.
class RankZero : public Member {
 public:
  RankZero(std::unique_ptr<Hub> hub, Connection connection, const std::string& host,
           const ControlOptions& options)
      : Member(std::move(connection), host, options), hub_(std::move(hub)) {}
  ~RankZero() override { leave(ExitCode::internal, "it gave no reason"); }
  std::vector<Fact> facts_of(int rank) const override { return hub_->facts_of(rank); }

 private:
  std::unique_ptr<Hub> hub_;
};

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::uint64_t random_nonce() {
  std::random_device source;
  return static_cast<std::uint64_t>(source()) << 32 | source();
}

Hello hello_of(const Identity& identity, const ControlOptions& options) {
  return {options.job,
          static_cast<std::uint64_t>(identity.rank),
          static_cast<std::uint64_t>(identity.world),
          random_nonce(),
          host_name(),
          options.facts};
}

// A frame, or nothing where the other side closed the connection first. Throws BadFrame, and
// NetError at the deadline.
std::optional<Frame> await_frame(Connection& connection, Deadline deadline) {
  for (;;) {
    if (std::optional<Frame> frame = connection.next_frame()) return frame;
    if (!connection.open()) return std::nullopt;
    if (Clock::now() > deadline)
      throw NetError(NetError::Kind::timeout, "it took the hello but did not answer");
    pollfd entry = connection.poll_entry();
    poll_all(&entry, 1, milliseconds{50});
    connection.flush();
    connection.receive();
  }
}

[[noreturn]] void throw_refusal(const Refusal& refusal) {
  if (refusal.code == ExitCode::usage) throw UserError(refusal.code, refusal.reason);
  throw PeerError(refusal.code, -1, refusal.reason);
}

// Nothing when the connection ended before an answer.
std::optional<Welcome> say_hello(Connection& connection, const Hello& hello, Deadline deadline) {
  connection.send(hello.frame());
  const std::optional<Frame> answer = await_frame(connection, deadline);
  if (!answer) return std::nullopt;
  if (answer->type == FrameType::refusal) throw_refusal(Refusal::from(*answer));
  connection.set_payload_limit(member_limit);
  return Welcome::from(*answer);
}

// A connection that ends without an answer (rank 0 restarts, a proxy without a backend) is made
// anew.
std::unique_ptr<ControlChannel> join_rank_0(const Hello& hello, const ControlOptions& options) {
  const Deadline deadline = after(options.rendezvous_timeout);
  for (;;) {
    Connection connection(
        connect_to(options.host, static_cast<std::uint16_t>(options.port), deadline, addresses_of),
        hello_limit);
    if (const auto welcome = say_hello(connection, hello, deadline + slack))
      return std::make_unique<Member>(std::move(connection), welcome->host, options);
    if (Clock::now() > deadline)
      throw NetError(NetError::Kind::closed, "it closed each connection without an answer");
    std::this_thread::sleep_for(pause_between_attempts);
  }
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Socket listener_of(const ControlOptions& options) {
  if (options.listener >= 0) {
    fcntl(options.listener, F_SETFL, fcntl(options.listener, F_GETFL) | O_NONBLOCK);
    fcntl(options.listener, F_SETFD, FD_CLOEXEC);
    return Socket(options.listener);
  }
  try {
    return listen_on(is_loopback(options.host) ? options.host : "",
                     static_cast<std::uint16_t>(options.port));
  } catch (const NetError& error) {
    throw UserError(ExitCode::usage,
                    fmt::format("rank 0 {}: choose another port by --rendezvous", error.what()));
  }
}

std::unique_ptr<ControlChannel> join_as_rank_0(const Hello& hello, const Identity& identity,
                                               const ControlOptions& options) {
  Socket listener = listener_of(options);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    throw NetError(NetError::Kind::system, "no socket pair is to be had");
  auto hub = std::make_unique<Hub>(std::move(listener), Socket(ends[1]),
                                   Expectation{options.job, identity.world}, options);
  Connection connection{Socket(ends[0]), hello_limit};
  const Deadline deadline = after(options.rendezvous_timeout + slack);
  const auto welcome = say_hello(connection, hello, deadline);
  if (!welcome) throw NetError(NetError::Kind::closed, "its control channel ended");
  return std::make_unique<RankZero>(std::move(hub), std::move(connection), welcome->host, options);
}

}  // namespace

std::unique_ptr<ControlChannel> ControlChannel::join(const Identity& identity,
                                                     const ControlOptions& options) {
  if (!identity.alone() && options.port == 0 && options.listener < 0)
    throw UserError(ExitCode::usage,
                    fmt::format("rank {} of {} is not told where rank 0 listens: give every rank "
                                "--rendezvous host:port",
                                identity.rank, identity.world));
  const Hello hello = hello_of(identity, options);
  const std::string where = fmt::format("rank 0 at {}:{}", options.host, options.port);
  try {
    return identity.rank == 0 ? join_as_rank_0(hello, identity, options)
                              : join_rank_0(hello, options);
  } catch (const NetError& error) {
    throw PeerError(ExitCode::rendezvous, 0,
                    fmt::format("no rendezvous of rank {} with {} within {:g} s: {}", identity.rank,
                                where, seconds(options.rendezvous_timeout), error.what()));
  } catch (const BadFrame& error) {
    throw PeerError(ExitCode::refused, 0, fmt::format("{} is no Annulus: {}", where, error.what()));
  }
}

}  // namespace annulus
