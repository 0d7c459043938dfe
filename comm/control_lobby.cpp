// Guests of rank 0; see comm/control_lobby.h.
#include "comm/control_lobby.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/control_secret.h"

namespace annulus::control {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds linger{1'000};          // for a refusal to arrive before we close
constexpr milliseconds hello_timeout{10'000};  // a stranger may keep us waiting for so long
constexpr int most_accepted = 256;             // a turn: others wait, too

Refusal secret_missing(const Hello& hello, const char* who_has_none) {
  return {ExitCode::usage,
          fmt::format("rank {} on {} is refused: {}: give all ranks of the run the same "
                      "ANNULUS_SECRET_FILE, or none",
                      hello.rank, hello.host, who_has_none)};
}

}  // namespace

Lobby::Lobby(Poller& poller, Socket listener, std::string secret, std::size_t most_guests,
             Admit admit)
    : poller_(poller),
      listener_(std::move(listener)),
      secret_(std::move(secret)),
      most_guests_(most_guests),
      admit_(std::move(admit)) {
  poller_.watch(listener_.descriptor(), listener_key);
}

void Lobby::close() {
  guests_.clear();
  listener_.close();
}

bool Lobby::refusals_under_way() const {
  return std::any_of(guests_.begin(), guests_.end(),
                     [](const auto& guest) { return guest.second.stage == Stage::refused; });
}

// --- coming and going ----------------------------------------------------------------------------

void Lobby::take_all_who_knock() {
  try {
    for (int taken = 0; taken < most_accepted; ++taken) {
      std::optional<Socket> socket = listener_.accept_now();
      if (!socket) return;
      take_in(std::move(*socket), hello_timeout, false);
    }
  } catch (const NetError&) {  // descriptors ran out: some are freed, or a little later
    if (see_one_off()) return;
    poller_.rest(listener_.descriptor());
    resting_ = true;
  }
}

void Lobby::take_rank_0(Socket socket, milliseconds patience) {
  take_in(std::move(socket), patience, true);
}

// A hello most often comes together with its connection: it is read at once.
void Lobby::take_in(Socket socket, milliseconds patience, bool kept) {
  const Poller::Key key = next_key_++;
  guests_.emplace(key,
                  Guest{Connection(std::move(socket), hello_limit), Clock::now() + patience, kept});
  serve(key);
  if (guests_.size() > most_guests_) see_one_off();
}

bool Lobby::see_one_off() {
  auto leaving = std::find_if(guests_.begin(), guests_.end(), [](const auto& guest) {
    return guest.second.stage == Stage::refused;
  });
  if (leaving == guests_.end())
    leaving = std::find_if(guests_.begin(), guests_.end(),
                           [](const auto& guest) { return !guest.second.kept; });
  if (leaving == guests_.end()) return false;
  guests_.erase(leaving);
  return true;
}

void Lobby::tidy(Clock::time_point now) {
  std::erase_if(guests_, [&](const auto& guest) { return now > guest.second.until; });
  if (std::exchange(resting_, false)) poller_.watch(listener_.descriptor(), listener_key);
}

void Lobby::serve(Poller::Key key) {
  const auto found = guests_.find(key);
  if (found == guests_.end()) return;  // seen off in this very turn
  Guest& guest = found->second;
  guest.connection.flush();
  if (guest.stage == Stage::refused)
    guest.connection.discard();
  else
    listen(guest);
  if (guest.connection.open())
    poller_.watch(guest.connection, key);
  else
    guests_.erase(found);  // it went away, was hung up on, or has a seat now
}

// --- what they say -------------------------------------------------------------------------------

void Lobby::listen(Guest& guest) {
  guest.connection.receive();
  try {
    while (guest.connection.open() && guest.stage != Stage::refused) {
      const std::optional<Frame> frame = guest.connection.next_frame();
      if (!frame) break;
      take_frame(guest, *frame);
    }
  } catch (const BadFrame& error) {
    if (error.kind() == BadFrame::Kind::version)
      return refuse(guest, Stranger::other_version,
                    {ExitCode::usage, fmt::format("refused: {}; rank 0 speaks version {}: use one "
                                                  "build on all ranks",
                                                  error.what(), protocol_version)});
    log_.tell(Stranger::no_annulus, guest.connection.peer_address(), error.what());
    guest.connection.close();
  }
}

void Lobby::take_frame(Guest& guest, const Frame& frame) {
  if (guest.stage != Stage::challenged)
    take_hello(guest, frame);
  else if (frame.type != FrameType::heartbeat)
    take_proof(guest, frame);
}

void Lobby::take_hello(Guest& guest, const Frame& frame) {
  const Hello hello = Hello::from(frame);
  if (hello.has_secret != !secret_.empty())
    return refuse(guest, Stranger::wrong_secret,
                  secret_missing(hello, hello.has_secret ? "it has a secret, rank 0 has none"
                                                         : "rank 0 has a secret, it has none"));
  if (secret_.empty()) return admit(guest, hello, "");
  guest.stage = Stage::challenged;
  guest.hello_payload = frame.payload;
  guest.challenge = new_challenge();
  guest.connection.send(Challenge{guest.challenge}.frame());
}

void Lobby::take_proof(Guest& guest, const Frame& frame) {
  const Hello hello = Hello::from({FrameType::hello, guest.hello_payload});
  if (!same_proof(Proof::from(frame).bytes,
                  proof_of_rank(secret_, guest.challenge, guest.hello_payload)))
    return refuse(guest, Stranger::wrong_secret,
                  secret_missing(hello, "its secret is another one than rank 0's"));
  admit(guest, hello, proof_of_rank_0(secret_, guest.challenge, guest.hello_payload));
}

void Lobby::admit(Guest& guest, const Hello& hello, const std::string& proof) {
  if (const auto refusal = admit_({hello, guest.connection, proof, guest.kept}))
    refuse(guest, Stranger::refused, *refusal);
}

void Lobby::refuse(Guest& guest, Stranger kind, const Refusal& refusal) {
  const std::string address = guest.connection.peer_address();
  log_.tell(kind, address, refusal.reason);
  last_refusal_ = fmt::format("{}: {}", address, refusal.reason);
  guest.connection.send(refusal.frame());
  guest.stage = Stage::refused;
  guest.until = Clock::now() + linger;
  guest.hello_payload.clear();
}

}  // namespace annulus::control
