// Starting, watching and ending the local ranks. What a rank is told: comm/launcher_environment.h;
// the interface and who calls it: comm/launcher.h.
#include "comm/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "comm/console.h"
#include "comm/launcher_cores.h"
#include "comm/launcher_environment.h"
#include "comm/launcher_process.h"
#include "comm/socket.h"
#include "kernels/check.h"

namespace annulus {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// timeout(1) sends its signal twice in a row; only a later second one is a wish of its own.
constexpr milliseconds kRepeat{1'000};

// SIGTERM, SIGINT and SIGCHLD come through a descriptor while this lives.
class Signals {
 public:
  Signals() {
    sigset_t taken;
    sigemptyset(&taken);
    for (const int number : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&taken, number);
    pthread_sigmask(SIG_BLOCK, &taken, &mask_before_);
    struct sigaction standard {
    };  // a parent may have made us ignore it: then nothing can be waited for
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, &child_before_);
    descriptor_ = Socket(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() {
    sigaction(SIGCHLD, &child_before_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_.descriptor(); }

  // The next SIGTERM or SIGINT that has come.
  std::optional<int> next() const {
    signalfd_siginfo info{};
    while (read(descriptor_.descriptor(), &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGCHLD) return static_cast<int>(info.ssi_signo);
    return std::nullopt;
  }

 private:
  sigset_t mask_before_{};
  struct sigaction child_before_ {};
  Socket descriptor_;  // Socket owns any descriptor
};

std::string random_job() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}", source(), source());
}

// Our environment with `set` in it; a name of `defaults` only where it is not set.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& set,
    const std::vector<std::pair<std::string, std::string>>& defaults) {
  std::vector<std::string> result;
  const auto names = [](std::string_view entry, const std::string& name) {
    return entry.substr(0, entry.find('=')) == name;
  };
  for (char** entry = environ; *entry; ++entry)
    if (std::none_of(set.begin(), set.end(),
                     [&](const auto& variable) { return names(*entry, variable.first); }))
      result.emplace_back(*entry);
  for (const auto& [name, value] : set) result.push_back(fmt::format("{}={}", name, value));
  for (const auto& [name, value] : defaults)
    if (!std::getenv(name.c_str())) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

bool permanent(int code) { return code >= 1 && code <= 127; }

// All ranks of a run stop together, whichever node's launcher was told to.
bool stopped(int code) { return code == 128 + SIGTERM || code == 128 + SIGINT; }

class Launch {
 public:
  explicit Launch(const LaunchOptions& options)
      : options_(options),
        ended_(static_cast<std::size_t>(options.ranks)),
        killed_(static_cast<std::size_t>(options.ranks)) {}
  int run();

 private:
  void start();
  LaunchPlace all_here(const Socket& listener) const;
  std::vector<std::pair<std::string, std::string>> identity_of(const LaunchPlace& place,
                                                               int local_rank, int listener) const;
  int global(int local_rank) const;
  void wait_for_events();
  void take_signals();
  void take_endings();
  void end_the_others();
  void kill_all();
  bool running() const;
  void note(int local_rank);
  int conclude() const;

  // Why the whole failed. The first cause is the earliest of the highest weight.
  struct Cause {
    enum class Weight { none, lost_a_peer, had_to_be_killed, its_own };
    Weight weight = Weight::none;
    std::string text;
    int code = 0;
  };

  const LaunchOptions& options_;
  Signals signals_;
  SaidErrors said_;
  std::vector<Process> ranks_;        // by local rank
  std::vector<bool> ended_, killed_;  // by local rank: its ending was noted; we sent SIGKILL
  int forwarded_ = 0;                 // the signal that was passed on
  Clock::time_point forwarded_at_;
  std::optional<Clock::time_point> failed_at_;
  bool told_to_end_ = false;
  Cause cause_;
  int permanent_code_ = 0;  // of the first rank that has one
};

int Launch::run() {
  start();
  while (running()) {
    wait_for_events();
    take_signals();
    take_endings();
    end_the_others();
  }
  for (Process& rank : ranks_) rank.forward_rest();
  return conclude();
}

void Launch::start() {
  Socket listener;
  if (!options_.place) listener = listen_on("127.0.0.1", 0);
  const LaunchPlace place = options_.place.value_or(all_here(listener));
  const std::vector<CoreShare> shares = share_cores(cores_of_this_process(), options_.ranks);
  for (int local_rank = 0; local_rank < options_.ranks; ++local_rank) {
    const bool inherits = local_rank == 0 && listener;
    ProcessPlan plan;
    plan.arguments = options_.command;
    plan.environment =
        environment_with(identity_of(place, local_rank, inherits ? listener.descriptor() : -1),
                         {{"ANNULUS_CPU_THREADS", std::to_string(shares[local_rank].threads)},
                          {"ANNULUS_CPU_MODE", "threads"}});
    plan.pinned_to = shares[local_rank].pinned_to;
    plan.inherited = inherits ? listener.descriptor() : -1;
    plan.own_stdout = global(local_rank) == 0;
    plan.prefix = fmt::format("[rank {}] ", global(local_rank));
    plan.said = &said_;
    try {
      ranks_.emplace_back(plan);
    } catch (...) {
      kill_all();
      for (; running(); take_endings()) wait_for_events();
      throw;
    }
    if (inherits) listener.close();  // now rank 0's alone: when it dies, nobody listens
  }
}

LaunchPlace Launch::all_here(const Socket& listener) const {
  LaunchPlace place;
  place.world = place.local_world = options_.ranks;
  if (listener) place.rendezvous = {"127.0.0.1", listener.local_port()};
  place.job = random_job();
  return place;
}

std::vector<std::pair<std::string, std::string>> Launch::identity_of(const LaunchPlace& place,
                                                                     int local_rank,
                                                                     int listener) const {
  namespace names = launcher_environment;
  std::vector<std::pair<std::string, std::string>> identity;
  if (place.environment) identity = place.environment(local_rank);
  identity.insert(identity.end(),
                  {{names::rank, std::to_string(global(local_rank))},
                   {names::ranks, std::to_string(place.world)},
                   {names::local_rank, std::to_string(place.first_local_rank + local_rank)},
                   {names::local_ranks, std::to_string(place.local_world)},
                   {names::rendezvous, place.rendezvous.text()},
                   {names::job, place.job},
                   {names::listener, listener >= 0 ? std::to_string(listener) : ""}});
  return identity;
}

int Launch::global(int local_rank) const {
  return options_.place ? options_.place->first_rank + local_rank : local_rank;
}

void Launch::wait_for_events() {
  std::vector<pollfd> entries{{signals_.descriptor(), POLLIN, 0}};
  for (const Process& rank : ranks_)
    for (std::size_t index = 0; index < Process::outputs; ++index)
      entries.push_back({rank.output(index), POLLIN, 0});  // poll skips an entry of -1
  const bool ending = cause_.weight != Cause::Weight::none;
  const milliseconds patience = ending ? milliseconds{50} : milliseconds{1'000};
  if (poll(entries.data(), entries.size(), static_cast<int>(patience.count())) <= 0) return;
  auto entry = entries.begin() + 1;
  for (Process& rank : ranks_)
    for (std::size_t index = 0; index < Process::outputs; ++index, ++entry)
      if (entry->revents != 0) rank.forward(index);
}

void Launch::take_signals() {
  while (const std::optional<int> signal = signals_.next()) {
    if (forwarded_ != 0 && Clock::now() - forwarded_at_ >= kRepeat)
      kill_all();
    else if (forwarded_ == 0)
      for (const Process& rank : ranks_) rank.signal(*signal);
    if (forwarded_ != 0) continue;
    forwarded_ = *signal;
    forwarded_at_ = Clock::now();
  }
}

void Launch::take_endings() {
  for (Process& rank : ranks_) rank.reap();
  for (std::size_t index = 0; index < ranks_.size(); ++index)
    if (!ranks_[index].running() && !ended_[index]) note(static_cast<int>(index));
}

void Launch::note(int local_rank) {
  ended_[local_rank] = true;
  const Ending ending = *ranks_[local_rank].ending();
  if (ending.code == 0 && ending.signal == 0) return;
  const bool as_told = (forwarded_ != 0 && ending.signal == forwarded_) || stopped(ending.code);
  if (!failed_at_ && !as_told) failed_at_ = Clock::now();
  if (permanent_code_ == 0 && permanent(ending.code)) permanent_code_ = ending.code;

  const std::string who = fmt::format("rank {}", global(local_rank));
  constexpr int peer_lost = static_cast<int>(ExitCode::peer_lost);
  Cause cause{Cause::Weight::its_own, "", ending.signal != 0 ? peer_lost : ending.code};
  if (ending.signal == 0) {
    cause.text = fmt::format("{} ended with code {}", who, ending.code);
    if (ending.code == peer_lost) cause.weight = Cause::Weight::lost_a_peer;
  } else if (killed_[local_rank]) {
    cause.weight = Cause::Weight::had_to_be_killed;
    cause.text = fmt::format("{} did not end and had to be killed", who);
  } else {
    cause.text = fmt::format("{} was killed by SIG{}", who, sigabbrev_np(ending.signal));
  }
  if (cause.weight > cause_.weight) cause_ = cause;
}

// When one has failed, the others normally end by themselves: the control channel told them. Ranks
// that are stopped cannot, and do not hear SIGTERM either.
void Launch::end_the_others() {
  if (cause_.weight == Cause::Weight::none) return;
  const bool all_stopped = std::all_of(ranks_.begin(), ranks_.end(), [](const Process& rank) {
    return !rank.running() || rank.stopped();
  });
  if (all_stopped) return kill_all();
  if (!failed_at_) return;  // they end as a signal told them: a checkpoint takes its time
  const Clock::time_point terminate_at = *failed_at_ + options_.grace / 2;
  const Clock::time_point now = Clock::now();
  if (now > terminate_at + options_.grace) return kill_all();
  if (now > terminate_at && !std::exchange(told_to_end_, true))
    for (const Process& rank : ranks_) rank.signal(SIGTERM);
}

void Launch::kill_all() {
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    if (!ranks_[index].running()) continue;
    ranks_[index].signal(SIGKILL);
    killed_[index] = true;
  }
}

bool Launch::running() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const Process& rank) { return rank.running(); });
}

int Launch::conclude() const {
  if (cause_.weight == Cause::Weight::none) return 0;
  if (forwarded_ != 0 && permanent_code_ == 0) {
    report_error(fmt::format("stopped by SIG{}", sigabbrev_np(forwarded_)));
    return 128 + forwarded_;
  }
  report_error(cause_.text);
  return permanent_code_ != 0 ? permanent_code_ : cause_.code;
}

}  // namespace

int launch(const LaunchOptions& options) { return Launch(options).run(); }

int inherited_listener(const Environment& environment) {
  const char* value = environment(launcher_environment::listener);
  return value && *value ? std::atoi(value) : -1;
}

unsigned int usable_cores() { return usable_cores(cores_of_this_process()); }

}  // namespace annulus
