// The program that launcher and control tests run: started by a test it launches ranks of itself,
// and a rank does what the arguments say, in order.
//   launched RANKS GRACE_MS [WHO/ACTION…]      WHO: a rank, or * for all
// LAUNCHED_AS="FIRST WORLD HOST:PORT" makes them some of the ranks of a run on several nodes.
// Actions: out=TEXT, err=TEXT (\n is a line's end), pid, sleep=MS, exit=CODE, raise=SIGNAL,
// on-term=CODE, save-at-term=MS (takes so long, tells it on stdout, ends with 143), ignore-term,
// env=NAME, cores, child (a process that sleeps), join, step=N (phase and a barrier), loss (waits
// for one, tells it on stderr, ends with its code), leave=CODE.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "comm/control.h"
#include "comm/identity.h"
#include "comm/launcher.h"

namespace annulus {
namespace {

volatile sig_atomic_t code_at_term = 0, milliseconds_at_term = 0;

class Rank {
 public:
  Rank() : identity_(std::get<Identity>(detect_place({}, {.environment = getenv}))) {}

  void obey(const std::string& order) {
    const std::size_t slash = order.find('/'), equals = order.find('=', slash);
    const std::string who = order.substr(0, slash);
    if (who != "*" && who != std::to_string(identity_.rank)) return;
    const std::string action = order.substr(slash + 1, equals - slash - 1);
    act(action, equals == std::string::npos ? "" : order.substr(equals + 1));
  }

 private:
  void act(const std::string& action, const std::string& value) {
    const int number = std::atoi(value.c_str());
    if (action == "out") put(stdout, unescaped(value));
    if (action == "err") put(stderr, unescaped(value));
    if (action == "pid") put(stdout, fmt::format("pid {}\n", getpid()));
    if (action == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds{number});
    if (action == "exit") std::_Exit(number);
    if (action == "raise") raise(number);
    if (action == "ignore-term") signal(SIGTERM, SIG_IGN);
    if (action == "on-term") end_at_term(number);
    if (action == "save-at-term") save_at_term(number);
    if (action == "env") {
      const char* text = std::getenv(value.c_str());
      put(stderr, fmt::format("{}={}\n", value, text ? text : "(unset)"));
    }
    if (action == "cores") put(stderr, "cores" + cores() + "\n");
    if (action == "child") start_child();
    if (action == "join") join();
    if (action == "step") step(number);
    if (action == "loss") tell_loss();
    if (action == "leave") channel_->leave(static_cast<ExitCode>(number), "as the test wants");
  }

  static void put(std::FILE* file, const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  }
  static std::string unescaped(std::string text) {
    for (std::size_t at; (at = text.find("\\n")) != std::string::npos;) text.replace(at, 2, "\n");
    return text;
  }
  static void end_at_term(int code) {
    code_at_term = code;
    signal(SIGTERM, [](int) { std::_Exit(code_at_term); });
  }
  static void save_at_term(int milliseconds) {
    milliseconds_at_term = milliseconds;
    signal(SIGTERM, [](int) {
      usleep(1000 * static_cast<useconds_t>(milliseconds_at_term));
      [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, "saved\n", 6);
      std::_Exit(143);
    });
  }
  static std::string cores() {
    cpu_set_t mask;
    std::string list;
    sched_getaffinity(0, sizeof mask, &mask);
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &mask)) list += fmt::format(" {}", core);
    return list;
  }
  static void start_child() {
    const pid_t child = fork();
    if (child == 0) {
      std::this_thread::sleep_for(std::chrono::minutes{10});
      std::_Exit(0);
    }
    put(stdout, fmt::format("pid {}\n", child));
  }

  void join() {
    ControlOptions options;
    options.host = identity_.rendezvous_host;
    options.port = identity_.rendezvous_port;
    options.job = identity_.job;
    options.listener = inherited_listener(getenv);
    options.heartbeat = std::chrono::milliseconds{50};
    options.peer_timeout = std::chrono::milliseconds{3'000};
    channel_ = ControlChannel::join(identity_, options);
  }
  void step(int number) {
    channel_->set_phase({"step", static_cast<std::size_t>(number), 3});
    channel_->barrier("step");
    std::this_thread::sleep_for(std::chrono::milliseconds{200});  // a few heartbeats tell the phase
  }
  void tell_loss() {
    std::optional<Loss> loss;
    while (!(loss = channel_->lost())) std::this_thread::sleep_for(std::chrono::milliseconds{5});
    put(stderr, fmt::format("lost {}: {}\n", loss->rank, loss->message));
    channel_->leave(loss->code, loss->message);
    channel_.reset();
    std::_Exit(static_cast<int>(loss->code));
  }

  Identity identity_;
  std::unique_ptr<ControlChannel> channel_;
};

std::optional<LaunchPlace> place_of(const char* text) {
  if (!text) return std::nullopt;
  LaunchPlace place;
  std::string rendezvous;
  std::istringstream(text) >> place.first_rank >> place.world >> rendezvous;
  place.local_world = place.world;
  place.rendezvous = parse_endpoint("LAUNCHED_AS", rendezvous);
  place.job = "launched";
  place.environment = [](int local_rank) {
    return std::vector{
        std::pair<std::string, std::string>{"LAUNCHED_SAYS", fmt::format("hello {}", local_rank)}};
  };
  return place;
}

int run(int count, char** arguments) {
  if (!std::getenv("ANNULUS_LAUNCHER_RANK"))
    return launch({std::atoi(arguments[1]),
                   {arguments, arguments + count},
                   std::chrono::milliseconds{std::atoi(arguments[2])},
                   place_of(std::getenv("LAUNCHED_AS"))});
  Rank rank;
  for (int i = 3; i < count; ++i) rank.obey(arguments[i]);
  return 0;
}

}  // namespace
}  // namespace annulus

int main(int count, char** arguments) { return annulus::run(count, arguments); }
