// The hub's thread, its guests and the rendezvous; what it does for ranks that are in:
// comm/control_hub_ranks.cpp. The invariants: comm/control_hub.h.
#include "comm/control_hub.h"
#include "comm/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace annulus::control {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds linger{1'000};          // for a last word to arrive before we close
constexpr milliseconds hello_timeout{10'000};  // a stranger may keep us waiting for so long
constexpr std::size_t most_guests = 256;

}  // namespace

Hub::Hub(Socket listener, Socket rank_0, Expectation expected, const ControlOptions& options)
    : expected_(std::move(expected)),
      options_(options),
      rendezvous_deadline_(Clock::now() + options.rendezvous_timeout),
      listener_(std::move(listener)),
      beat_(options.heartbeat),
      seats_(static_cast<std::size_t>(expected_.world)) {
  guests_.push_back({Connection(std::move(rank_0), hello_limit), rendezvous_deadline_});
  thread_ = std::thread([this] { run(); });
}

Hub::~Hub() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  waker_.wake();
  thread_.join();
}

std::vector<Fact> Hub::facts_of(int rank) const {
  const std::lock_guard lock(mutex_);
  return told_.at(static_cast<std::size_t>(rank));
}

bool Hub::stop_requested() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

// --- the thread ----------------------------------------------------------------------------------

void Hub::run() {
  try {
    while (!finished()) serve();
  } catch (const std::exception& error) {
    note(fmt::format("annulus: the control channel of rank 0 failed: {}\n", error.what()));
  }
  for (Seat& seat : seats_) seat.connection.reset();  // who is still there takes rank 0 for lost
  guests_.clear();
  listener_.close();
}

void Hub::serve() {
  wait_for_events();
  waker_.clear();
  take_guest();
  serve_guests();
  serve_seats();
  if (ended_) return;
  if (!open_)
    rendezvous();
  else
    judge();
}

void Hub::wait_for_events() {
  std::vector<pollfd> entries{waker_.poll_entry(), {listener_.descriptor(), POLLIN, 0}};
  for (const Guest& guest : guests_) entries.push_back(guest.connection.poll_entry());
  for (const Seat& seat : seats_)
    if (seat.connection && seat.connection->open())
      entries.push_back(seat.connection->poll_entry());
  poll_all(entries.data(), entries.size(), beat_.tick());
  somebody_knocks_ = entries[1].revents != 0;
}

bool Hub::finished() {
  if (!stop_requested()) return false;
  if (!open_ && !ended_) refuse_all({ExitCode::rendezvous, "rank 0 gave the rendezvous up"});
  if (ended_ && Clock::now() > close_at_) return true;
  return std::none_of(guests_.begin(), guests_.end(),
                      [](const Guest& guest) { return guest.refused; }) &&
         std::none_of(seats_.begin(), seats_.end(),
                      [](const Seat& seat) { return seat.connection && seat.connection->open(); });
}

// --- guests --------------------------------------------------------------------------------------

void Hub::take_guest() {
  if (!std::exchange(somebody_knocks_, false)) return;
  try {
    Socket socket = listener_.accept(Clock::now());
    guests_.push_back({Connection(std::move(socket), hello_limit), Clock::now() + hello_timeout});
    if (guests_.size() > most_guests + seats_.size()) guests_.pop_front();
  } catch (const NetError& error) {
    // It went away before it was taken; or descriptors ran out, and some are freed.
    if (error.kind() == NetError::Kind::system && !guests_.empty()) guests_.pop_front();
  }
}

void Hub::serve_guests() {
  for (Guest& guest : guests_) {
    guest.connection.receive();
    guest.connection.flush();
    if (guest.refused) continue;
    try {
      if (const std::optional<Frame> frame = guest.connection.next_frame())
        read_hello(guest, *frame);
    } catch (const BadFrame& error) {
      if (error.kind() == BadFrame::Kind::version)
        refuse(guest,
               {ExitCode::usage, fmt::format("refused: {}; rank 0 speaks version {}: use one "
                                             "build on all ranks",
                                             error.what(), protocol_version)});
      else
        guest.connection.close();
    }
  }
  const Clock::time_point now = Clock::now();
  guests_.remove_if(
      [&](const Guest& guest) { return !guest.connection.open() || now > guest.until; });
}

void Hub::read_hello(Guest& guest, const Frame& frame) {
  const Hello hello = Hello::from(frame);
  if (ended_) return refuse(guest, {ExitCode::refused, "the run has ended: " + end_reason_});
  if (const auto refusal = refuse_hello(hello, expected_)) return refuse(guest, *refusal);
  Seat& seat = seats_[hello.rank];
  const bool came_again = !open_ && seat.hello.nonce == hello.nonce;
  if (seat.state != Seat::State::absent && !came_again)
    return refuse(guest, refuse_second_claim(seat.hello, hello));
  seat.state = Seat::State::present;
  seat.connection.emplace(std::move(guest.connection));
  seat.hello = hello;
}

void Hub::refuse(Guest& guest, const Refusal& refusal) {
  last_refusal_ = fmt::format("{}: {}", guest.connection.peer_address(), refusal.reason);
  guest.connection.send(refusal.frame());
  guest.refused = true;
  guest.until = Clock::now() + linger;
}

// --- the rendezvous ------------------------------------------------------------------------------

void Hub::rendezvous() {
  if (all(Seat::State::present))
    let_all_in();
  else if (Clock::now() > rendezvous_deadline_)
    refuse_late();
}

void Hub::let_all_in() {
  std::vector<Hello> hellos;
  for (const Seat& seat : seats_) hellos.push_back(seat.hello);
  const FactCheck check = compare_facts(hellos);
  for (const std::string& warning : check.warnings) note("annulus: warning: " + warning + "\n");
  if (check.refusal) return refuse_all(*check.refusal);
  {
    const std::lock_guard lock(mutex_);
    for (const Hello& hello : hellos) told_.push_back(hello.facts);
  }
  for (Seat& seat : seats_) {
    seat.connection->set_payload_limit(member_limit);
    seat.connection->start_clocks();
    seat.connection->send(Welcome{hellos.front().host}.frame());
  }
  open_ = true;
}

void Hub::refuse_late() {
  std::vector<int> absent;
  for (int rank = 0; rank < world(); ++rank)
    if (seats_[rank].state == Seat::State::absent) absent.push_back(rank);
  const std::string refused =
      last_refusal_.empty() ? "" : fmt::format("; somebody was refused, {}", last_refusal_);
  refuse_all(
      {ExitCode::rendezvous,
       fmt::format("{} of {} did not come to rank 0 within {:g} s: see their logs, and whether "
                   "they reach its port {}{}",
                   rank_list(absent), world(), seconds(options_.rendezvous_timeout),
                   listener_.local_port(), refused)});
}

void Hub::refuse_all(const Refusal& refusal) { end(refusal.frame(), refusal.reason); }

void Hub::end(const Frame& last_word, const std::string& reason) {
  for (Seat& seat : seats_)
    if (seat.connection) seat.connection->send(last_word);
  ended_ = true;
  end_reason_ = reason;
  close_at_ = Clock::now() + linger;
}

std::string Hub::who(int rank) const {
  return fmt::format("rank {} on {}", rank, seats_[rank].hello.host);
}

bool Hub::all(Seat::State state) const {
  return std::all_of(seats_.begin(), seats_.end(),
                     [&](const Seat& seat) { return seat.state == state; });
}

}  // namespace annulus::control
