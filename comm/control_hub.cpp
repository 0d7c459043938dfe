// The hub's thread: whom an event concerns, what is done a few times a second, and how it ends. The
// rendezvous: comm/control_hub_rendezvous.cpp; the ranks that are in: comm/control_hub_ranks.cpp
// and comm/control_hub_losses.cpp. The invariants: comm/control_hub.h.
#include "comm/control_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/console.h"

namespace annulus::control {
namespace {

using std::chrono::milliseconds;

constexpr Poller::Key waker_key = Lobby::listener_key + 1;
constexpr milliseconds linger{1'000};  // for a last word to arrive before we close
constexpr milliseconds first_progress{2'000};

Expectation expectation_of(const Hello& own, bool counted) {
  return {own.job, own.generation, static_cast<int>(own.world), static_cast<int>(own.local_ranks),
          counted};
}

}  // namespace

std::size_t Hub::most_guests(int world) { return 256 + static_cast<std::size_t>(world); }

Hub::Hub(Socket listener, Socket rank_0, const Hello& own, const ControlOptions& options)
    : options_(options),
      expected_(expectation_of(own, options.counted)),
      nonce_of_rank_0_(own.nonce),
      host_of_rank_0_(own.host),
      rendezvous_deadline_(began_ + options.rendezvous_timeout),
      lobby_(poller_, std::move(listener), options.secret, most_guests(expected_.world),
             [this](const Lobby::Candidate& candidate) { return admit(candidate); }),
      beat_(options.heartbeat),
      look_(beat_.tick()),
      next_progress_(began_ + first_progress),
      seats_(static_cast<std::size_t>(expected_.world)) {
  poller_.watch(waker_.descriptor(), waker_key);
  lobby_.take_rank_0(std::move(rank_0), options.rendezvous_timeout);
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

void Hub::step_down(const Refusal& refusal) {
  {
    const std::lock_guard lock(mutex_);
    stepping_down_ = refusal;
  }
  waker_.wake();
}

std::optional<Refusal> Hub::reason_to_step_down() const {
  const std::lock_guard lock(mutex_);
  return stepping_down_;
}

void Hub::run() {
  try {
    while (!finished()) turn();
  } catch (const std::exception& error) {
    note(fmt::format("annulus: the control channel of rank 0 failed: {}\n", error.what()));
  }
  for (Seat& seat : seats_) seat.connection.reset();  // who is still there takes rank 0 for lost
  lobby_.close();
}

void Hub::turn() {
  serve_whom_it_concerns();
  const bool time_to_look = look_.due();
  if (time_to_look) look_around();
  if (ended_) return;
  if (!open_) {
    if (const auto refusal = reason_to_step_down()) return refuse_all(*refusal);
    if (present_ == world()) let_all_in();
  }
  if (open_ && !poller_.more_may_wait() &&
      (time_to_look || std::exchange(somebody_is_gone_, false)))
    judge();
}

void Hub::serve_whom_it_concerns() {
  turn_began_ = Clock::now();
  const std::vector<Poller::Key>& keys = poller_.wait(look_.tick());
  bool somebody_knocks = false;
  for (const Poller::Key key : keys) {
    if (key == waker_key)
      waker_.clear();
    else if (key == Lobby::listener_key)
      somebody_knocks = true;
    else if (key >= Lobby::first_guest_key)
      lobby_.serve(key);
    else
      serve_seat(static_cast<int>(key));
  }
  if (somebody_knocks) lobby_.take_all_who_knock();
}

void Hub::look_around() {
  lobby_.tidy(turn_began_);
  if (ended_) {
    if (turn_began_ > close_at_)
      for (Seat& seat : seats_) seat.connection.reset();
    return;
  }
  if (!open_) rendezvous();
  if (beat_.due()) send_heartbeats();
}

bool Hub::finished() {
  if (!stop_requested()) return false;
  if (!open_ && !ended_) refuse_all({ExitCode::rendezvous, "rank 0 gave the rendezvous up"});
  if (ended_ && Clock::now() > close_at_) return true;
  return !lobby_.refusals_under_way() &&
         std::none_of(seats_.begin(), seats_.end(),
                      [](const Seat& seat) { return seat.connection && seat.connection->open(); });
}

void Hub::end(const Frame& last_word, const std::string& reason) {
  send_to_all(last_word);
  ended_ = true;
  end_reason_ = reason;
  close_at_ = Clock::now() + linger;
}

std::string Hub::who(int rank) const {
  return fmt::format("rank {} on {}", rank, seats_[rank].hello.host);
}

}  // namespace annulus::control
