// bench_rendezvous: how long workers take to find each other, from the moment the last of their
// names is published in DNS until every one of them is in. Workers are threads with the real
// discovery and the real control channel, over real sockets of the loopback interface; the DNS
// server is the tests'. Names are published one by one in a shuffled order while the workers wait.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "comm/console.h"
#include "comm/control.h"
#include "comm/discovery.h"
#include "comm/socket.h"
#include "tests/dns/dns_responder.h"

namespace {

using namespace annulus;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kJob = "cifar";
const ClusterNames kCluster{"ml", "cluster.local"};

struct Options {
  std::vector<int> workers{64, 256, 1024};
  int turns = 3;
  double spread = 2;  // seconds over which names are published
  double settle = 5;  // seconds, where the number is not known
};

// What one worker took, in seconds since the start of its turn.
struct Trip {
  double found = 0, in = 0;
};

struct Turn {
  double found = 0, in = 0;  // the last worker's, in seconds since the last name was published
  double questions = 0;      // to the DNS server, a worker
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string name_of(int worker) {
  return fmt::format("{0}-node-0-{1}.{0}.{2}.svc.{3}", kJob, worker, kCluster.kubernetes_namespace,
                     kCluster.domain);
}

test::DnsZone zone_of(int workers, double spread, unsigned int seed) {
  std::vector<int> order(workers);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  test::DnsZone zone;
  for (int place = 0; place < workers; ++place)
    zone[name_of(order[place])] = test::published(
        "127.0.0.1", milliseconds(static_cast<int>(1000 * spread * (place + 1) / workers)));
  return zone;
}

int free_port() { return listen_on("127.0.0.1", 0).local_port(); }

class Run {
 public:
  Run(const Options& options, int workers, bool known, unsigned int seed)
      : options_(options),
        workers_(workers),
        known_(known),
        port_(free_port()),
        dns_(zone_of(workers, options.spread, seed)),
        trips_(workers) {}

  Turn run() {
    std::vector<std::thread> threads;
    for (int worker = 0; worker < workers_; ++worker)
      threads.emplace_back([this, worker] { work(worker); });
    for (std::thread& thread : threads) thread.join();
    if (failed_) throw std::runtime_error("workers failed; the first line stands above");
    Turn turn;
    for (const Trip& trip : trips_) {
      turn.found = std::max(turn.found, trip.found - options_.spread);
      turn.in = std::max(turn.in, trip.in - options_.spread);
    }
    turn.questions = static_cast<double>(dns_.questions()) / workers_;
    return turn;
  }

 private:
  void work(int worker) {
    try {
      const Topology topology = find(worker);
      trips_[worker].found = seconds_since(begin_);
      const std::unique_ptr<ControlChannel> channel = join(worker, topology);
      trips_[worker].in = seconds_since(begin_);
      channel->leave(ExitCode::done, "");
    } catch (const std::exception& error) {
      if (!failed_.exchange(true)) note(fmt::format("worker {}: {}\n", worker, error.what()));
    }
  }

  Topology find(int worker) const {
    NodeIdentity node;
    node.index = worker;
    node.pod = PodName{.job = kJob, .index = worker};
    if (known_) node.nodes = workers_;
    node.source = "bench";
    DiscoveryOptions options;
    options.timeout = milliseconds{120'000};
    options.settle = milliseconds(static_cast<int>(1000 * options_.settle));
    options.port = port_;
    options.dns_servers = dns_.server();
    options.cluster = kCluster;
    return discover(node, options, [](const std::string&) {});
  }

  std::unique_ptr<ControlChannel> join(int worker, const Topology& topology) const {
    Identity identity;
    identity.rank = worker;
    identity.world = topology.nodes();
    ControlOptions options;
    options.port = port_;
    options.job = kJob;
    options.node = worker;
    options.counted = topology.counted;
    options.rendezvous_timeout = milliseconds{120'000};
    options.peer_timeout = milliseconds{60'000};  // 2,000 threads share the cores
    return ControlChannel::join(identity, options);
  }

  const Options& options_;
  const int workers_;
  const bool known_;
  const int port_;
  test::DnsResponder dns_;
  const Clock::time_point begin_ = Clock::now();
  std::vector<Trip> trips_;
  std::atomic<bool> failed_{false};
};

void allow_many_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Turn median_turn(const Options& options, int workers, bool known) {
  std::vector<Turn> turns;
  for (int turn = 0; turn < options.turns; ++turn)
    turns.push_back(Run(options, workers, known, turn + 1).run());
  const auto middle = turns.begin() + static_cast<std::ptrdiff_t>(turns.size() / 2);
  std::nth_element(turns.begin(), middle, turns.end(),
                   [](const Turn& a, const Turn& b) { return a.in < b.in; });
  return *middle;
}

void report(const Options& options) {
  print_line(
      fmt::format("# seconds since the last of the names was published, medians of {} turns; "
                  "settle {:g} s",
                  options.turns, options.settle));
  print_line("workers  number     found   all in  growth  questions a worker");
  for (const bool known : {true, false}) {
    double before = 0;
    for (const int workers : options.workers) {
      const Turn turn = median_turn(options, workers, known);
      print_line(fmt::format("{:7}  {:7} {:8.3f} {:8.3f} {:>7} {:19.1f}", workers,
                             known ? "known" : "counted", turn.found, turn.in,
                             before > 0 ? fmt::format("{:.2f}", turn.in / before) : "-",
                             turn.questions));
      before = turn.in;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"From the last published name to all workers in, by number of workers"};
  app.add_option("--workers", options.workers, "numbers of workers")->delimiter(',');
  app.add_option("--turns", options.turns, "medians are over so many")->check(CLI::Range(1, 100));
  app.add_option("--spread", options.spread, "seconds over which the names are published")
      ->check(CLI::Range(0.0, 600.0));
  app.add_option("--settle", options.settle, "seconds for which a counted number must hold")
      ->check(CLI::Range(0.0, 600.0));
  CLI11_PARSE(app, argc, argv);
  allow_many_descriptors();
  try {
    report(options);
  } catch (const std::exception& error) {
    note(fmt::format("bench_rendezvous: {}\n", error.what()));
    return 1;
  }
  return 0;
}
