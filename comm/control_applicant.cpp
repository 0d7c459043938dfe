// A rank on its way to a seat; see comm/control_applicant.h.
#include "comm/control_applicant.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "comm/control_secret.h"
#include "comm/host_lookup.h"

namespace annulus::control {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{100}, longest_pause{1'000};
constexpr milliseconds first_progress{2'000}, between_progress{5'000};

constexpr const char* no_answer =
    "each connection was closed without an answer: if a service mesh puts a side-car into the pod, "
    R"(turn that off (annotation sidecar.istio.io/inject: "false"))";

[[noreturn]] void throw_refusal(const Refusal& refusal) {
  if (refusal.code == ExitCode::usage || refusal.code == ExitCode::device)
    throw UserError(refusal.code, refusal.reason);
  throw PeerError(refusal.code, -1, refusal.reason);
}

}  // namespace

Connection connect_to_rank_0(const ControlOptions& options, Deadline deadline) {
  const auto port = static_cast<std::uint16_t>(options.port);
  return Connection(connect_to(options.host, port, deadline, addresses_of), answer_limit);
}

Applicant::Applicant(Hello hello, ControlOptions options)
    : hello_(std::move(hello)),
      options_(std::move(options)),
      next_progress_(began_ + first_progress) {}

// A connection that ends without an answer (rank 0 restarts, a proxy without a backend) is made
// anew.
Applicant::Seat Applicant::find_seat() {
  const Deadline deadline = began_ + options_.rendezvous_timeout;
  for (milliseconds pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    Connection connection = connect(deadline);
    if (auto welcome = apply(connection, deadline + slack))
      return {std::move(connection), std::move(*welcome)};
    if (Clock::now() > deadline) throw NetError(NetError::Kind::closed, no_answer);
    tell_progress("rank 0 is awaited: its port is open, but connections end without an answer");
    std::this_thread::sleep_for(pause);
  }
}

// In pieces, between which people are told.
Connection Applicant::connect(Deadline deadline) {
  for (;;) {
    try {
      return connect_to_rank_0(options_, std::min(deadline, next_progress_));
    } catch (const NetError& error) {
      if (Clock::now() >= deadline) throw;
      tell_progress(fmt::format("rank 0 is awaited: {}", error.what()));
    }
  }
}

std::optional<Welcome> Applicant::apply(Connection& connection, Deadline deadline) {
  Beat beat(options_.heartbeat);
  challenge_.clear();
  connection.send(hello_.frame());
  for (;;) {
    const Clock::time_point turn_began = Clock::now();
    pollfd entry = connection.poll_entry();
    poll_all(&entry, 1, beat.tick());
    connection.flush();
    connection.receive();
    while (const std::optional<Frame> frame = connection.next_frame())
      if (auto welcome = take_answer(connection, *frame)) return welcome;
    if (!connection.open() || connection.silent_for(options_.peer_timeout, turn_began))
      return std::nullopt;
    if (turn_began > deadline)
      throw NetError(NetError::Kind::timeout, waiting_words_.empty()
                                                  ? "it took the hello but did not answer"
                                                  : "it still waits: " + waiting_words_);
    if (beat.due() && connection.all_sent()) connection.send(Heartbeat{}.frame());
  }
}

std::optional<Welcome> Applicant::take_answer(Connection& connection, const Frame& frame) {
  if (frame.type == FrameType::heartbeat) return std::nullopt;
  if (frame.type == FrameType::refusal) throw_refusal(Refusal::from(frame));
  if (frame.type == FrameType::challenge) {
    prove(connection, Challenge::from(frame));
  } else if (frame.type == FrameType::waiting) {
    waiting_words_ = Waiting::from(frame).words;
    tell_progress(waiting_words_);
  } else {
    Welcome welcome = Welcome::from(frame);
    require_proof(welcome);
    connection.set_payload_limit(member_limit);
    return welcome;
  }
  return std::nullopt;
}

void Applicant::prove(Connection& connection, const Challenge& challenge) {
  if (options_.secret.empty() || challenge.bytes.size() != challenge_bytes)
    throw BadFrame(BadFrame::Kind::malformed, "it sent a challenge that none was asked for");
  challenge_ = challenge.bytes;
  connection.send(
      Proof{proof_of_rank(options_.secret, challenge_, hello_.frame().payload)}.frame());
}

void Applicant::require_proof(const Welcome& welcome) const {
  if (options_.secret.empty()) return;
  if (challenge_.empty() || !same_proof(welcome.proof, proof_of_rank_0(options_.secret, challenge_,
                                                                       hello_.frame().payload)))
    throw UserError(ExitCode::usage,
                    fmt::format("rank 0 at {}:{} does not have the secret of rank {}: give all "
                                "ranks of the run the same ANNULUS_SECRET_FILE, or none",
                                options_.host, options_.port, hello_.rank));
}

void Applicant::tell_progress(const std::string& words) {
  const Clock::time_point now = Clock::now();
  if (now < next_progress_) return;
  next_progress_ = now + between_progress;
  if (options_.progress) options_.progress(fmt::format("discovery: {}", words));
}

}  // namespace annulus::control
