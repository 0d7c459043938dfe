// The rendezvous as each rank sees it: connect to rank 0, say hello, be welcomed or refused. On
// rank 0 the hub is started first, and the rank talks to it over a socket pair. The interface and
// who calls it: comm/control.h.
#include "comm/control.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "comm/control_applicant.h"
#include "comm/control_hub.h"
#include "comm/control_listener.h"
#include "comm/control_member.h"
#include "comm/control_mirror.h"
#include "comm/host_lookup.h"
#include "comm/host_name.h"

namespace annulus {
namespace {

using namespace control;
using std::chrono::milliseconds;

constexpr milliseconds patience_with_port_holder{500};

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

std::uint64_t random_nonce() {
  std::random_device source;
  return static_cast<std::uint64_t>(source()) << 32 | source();
}

Hello hello_of(const Identity& identity, const ControlOptions& options) {
  Hello hello;
  hello.job = options.job;
  hello.generation = options.generation;
  hello.rank = static_cast<std::uint64_t>(identity.rank);
  hello.world = static_cast<std::uint64_t>(identity.world);
  hello.node = static_cast<std::uint64_t>(options.node);
  hello.local_ranks = static_cast<std::uint64_t>(std::max(1, options.local_ranks));
  hello.nonce = random_nonce();
  hello.host = host_name();
  hello.has_secret = !options.secret.empty();
  hello.facts = options.facts;
  return hello;
}

std::unique_ptr<ControlChannel> join_rank_0(const Hello& hello, const ControlOptions& options) {
  if (options.at_the_door) options.at_the_door();
  Applicant::Seat seat = Applicant(hello, options).find_seat();
  return std::make_unique<Member>(std::move(seat.connection), seat.welcome.host, options);
}

// Whoever has the port may be rank 0 of this very run: then its own words are the reason.
[[noreturn]] void throw_port_in_use(const Hello& hello, const ControlOptions& options) {
  try {
    Connection connection(
        connect_to(is_loopback(options.host) ? options.host : "127.0.0.1",
                   static_cast<std::uint16_t>(options.port), after(patience_with_port_holder)),
        answer_limit);
    Applicant(hello, options).apply(connection, after(patience_with_port_holder));
  } catch (const PeerError&) {
    throw;
  } catch (const std::exception&) {  // another program, or one that does not answer in time
  }
  throw UserError(
      ExitCode::usage,
      fmt::format(
          "rank 0 cannot listen: port {} in use: end the program that has it, or choose "
          "another port for all workers: in --workers, or by TF_WORKER_PORT or --rendezvous",
          options.port));
}

Socket listener_of(const Hello& hello, const ControlOptions& options) {
  try {
    return listen_as_rank_0(options);
  } catch (const NetError& error) {
    if (error.kind() == NetError::Kind::in_use) throw_port_in_use(hello, options);
    throw UserError(ExitCode::usage,
                    fmt::format("rank 0 {}: choose another port by --rendezvous", error.what()));
  }
}

std::unique_ptr<ControlChannel> join_as_rank_0(const Hello& hello, const ControlOptions& options) {
  const auto ranks = static_cast<int>(hello.world);
  make_room_for_connections(hello.world, hello.world + Hub::most_guests(ranks));
  Socket listener = listener_of(hello, options);
  if (options.at_the_door) options.at_the_door();
  ControlOptions quiet = options;
  quiet.progress = nullptr;  // the hub tells it
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    throw NetError(NetError::Kind::system, "no socket pair is to be had");
  auto hub = std::make_unique<Hub>(std::move(listener), Socket(ends[1]), hello, options);
  Connection connection{Socket(ends[0]), answer_limit};
  std::optional<Mirror> mirror;
  if (options.listener < 0 && !is_loopback(options.host))
    mirror.emplace(hello, quiet, [&hub](const Refusal& refusal) { hub->step_down(refusal); });
  const auto welcome =
      Applicant(hello, quiet).apply(connection, after(options.rendezvous_timeout + slack));
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
    return identity.rank == 0 ? join_as_rank_0(hello, options) : join_rank_0(hello, options);
  } catch (const NetError& error) {
    throw PeerError(ExitCode::rendezvous, 0,
                    fmt::format("no rendezvous of rank {} with {} within {:g} s: {}", identity.rank,
                                where, seconds(options.rendezvous_timeout), error.what()));
  } catch (const BadFrame& error) {
    throw PeerError(ExitCode::refused, 0, fmt::format("{} is no Annulus: {}", where, error.what()));
  }
}

}  // namespace annulus
