// See ranks.h.
#include "engine/cli/ranks.h"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "comm/console.h"
#include "comm/host_name.h"
#include "comm/interfaces.h"
#include "comm/launcher.h"
#include "comm/mpi_bootstrap.h"
#include "comm/socket.h"
#include "data/file.h"
#include "engine/build_info.h"
#include "engine/cli/nodes.h"
#include "engine/live_run.h"
#include "engine/observe/metrics_server.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

// The CPU device's settings for a rank among others, where the user has not set them: one device
// and a fair share of the cores each, streams on threads, so that communication can overlap.
void share_cpu_device(const Identity& identity) {
  const auto set = [](const char* name, unsigned int value) {
    setenv(name, std::to_string(value).c_str(), 0);
  };
  const unsigned int local_world = identity.local_world;
  set("ANNULUS_CPU_DEVICES", local_world);
  set("ANNULUS_CPU_THREADS", std::max(1u, usable_cores() / local_world));
  setenv("ANNULUS_CPU_MODE", "threads", 0);
}

// A process that sees one device uses it, whatever its local rank: some launchers bind one each.
void choose_device(const Identity& identity) {
  const int devices = device_count();
  if (devices > 1 && identity.local_rank >= devices)
    throw UserError(ExitCode::device,
                    fmt::format("local rank {} has no device: this machine has {}; start at most "
                                "{} ranks here",
                                identity.local_rank, devices, devices));
  CUDA_CHECK(cudaSetDevice(devices == 1 ? 0 : identity.local_rank));
}

Fact device_fact() {
  int device = 0;
  std::array<char, 32> bus{};
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetPCIBusId(bus.data(), bus.size(), device));
  return {"device", fmt::format("{} {}", host_name(), bus.data()), Fact::Rule::must_differ};
}

// NCCL fails late and obscurely where these differ between ranks.
constexpr std::array kNcclSettings{"NCCL_ALGO",     "NCCL_PROTO",         "NCCL_BUFFSIZE",
                                   "NCCL_NTHREADS", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
                                   "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"};

DeclaredEnvironment::Table compared_settings() {
  DeclaredEnvironment::Table table{"NCCL (read by NCCL; annulus compares them between ranks)", {}};
  for (const char* name : kNcclSettings)
    table.knobs.push_back({name, "NCCL's choice", "what NCCL accepts", "the same on every rank"});
  return table;
}

const DeclaredEnvironment kDeclared(compared_settings());

void add_common_facts(const Identity& identity, std::vector<Fact>& facts) {
  const BuildInfo& build = build_info();
  int nccl = 0;
  ncclGetVersion(&nccl);
  facts.push_back({"build", fmt::format("{} {}{}", build.version, build.commit,
                                        build.dirty ? " modified" : "")});
  facts.push_back({"NCCL version", std::to_string(nccl)});
  for (const char* name : kNcclSettings) {
    const char* value = std::getenv(name);
    facts.push_back({name, value ? value : "unset"});
  }
  facts.push_back(
      {"ranks on a host", std::to_string(identity.local_world), Fact::Rule::should_agree});
  facts.push_back(device_fact());
}

// What all ways to begin have in common.
struct Start {
  const RankOptions& options;
  const std::vector<std::string>& command_line;
  std::vector<Fact> facts;
  const std::function<int(World&)>& work;
  LiveRun live{};
  std::unique_ptr<MetricsServer> server{};

  void serve() {
    if (options.metrics_port && !server) server = MetricsServer::start(options.metrics_port, live);
  }
};

int run_alone(Start& start) {
  const std::string& ranks = start.options.ranks;
  const int wanted = ranks.empty()     ? start.options.ranks_if_alone
                     : ranks == "auto" ? device_count()
                                       : std::stoi(ranks);
  if (wanted > 1) {
    start.server.reset();
    return launch({.ranks = wanted, .command = start.command_line});
  }
  start.serve();
  start.live.at_the_door();
  device_count();
  World world;
  world.live = &start.live;
  return start.work(world);
}

std::string secret_of(const std::string& path) {
  if (path.empty()) return "";
  try {
    const std::vector<std::uint8_t> bytes = read_file(path);
    std::string secret(bytes.begin(), bytes.end());
    while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
    if (!secret.empty()) return secret;
  } catch (const UserError& error) {
    throw UserError(ExitCode::usage, fmt::format("--secret-file {}", error.what()));
  }
  throw UserError(
      ExitCode::usage,
      fmt::format("--secret-file {} is empty: mount the same secret into every pod", path));
}

ControlOptions control_options(const Start& start, Identity& identity, double seconds_to_meet) {
  const Environment environment = [](const char* name) { return std::getenv(name); };
  const RankOptions& options = start.options;
  ControlOptions control;
  control.listener =
      needs_mpi_rendezvous(identity) ? mpi_rendezvous(identity) : inherited_listener(environment);
  control.host = identity.rendezvous_host;
  control.port = identity.rendezvous_port;
  control.job = options.job.empty() ? identity.job : options.job;
  control.generation = options.generation;
  control.secret = secret_of(options.secret_file);
  control.node = identity.node.value_or(identity.rank);
  control.local_ranks = identity.ranks_a_node();
  control.counted = identity.counted;
  control.rendezvous_timeout = milliseconds(seconds_to_meet);
  control.peer_timeout = milliseconds(options.peer_timeout);
  control.progress = [](const std::string& line) { note(fmt::format("annulus: {}\n", line)); };
  return control;
}

std::function<std::string(const std::vector<int>&)> words_about_absent(const Identity& identity,
                                                                       const RankOptions& options) {
  const std::shared_ptr<AbsentWorkers> absent = absent_workers(identity, options);
  if (!absent) return nullptr;
  return [absent, ranks_a_node = identity.ranks_a_node()](const std::vector<int>& ranks) {
    std::vector<int> nodes;
    for (const int rank : ranks)
      if (nodes.empty() || nodes.back() != rank / ranks_a_node)
        nodes.push_back(rank / ranks_a_node);
    return absent->describe(nodes);
  };
}

int run_as_rank(Start& start, Identity identity, double seconds_to_meet) {
  World world{.identity = std::move(identity), .deadlines = {}, .control = nullptr};
  world.live = &start.live;
  start.live.is_rank(world.rank(), world.ranks(), world.identity.discovery_seconds);
  if (serves_metrics(world.identity)) start.serve();
  world.deadlines = control_options(start, world.identity, seconds_to_meet);
  world.deadlines.at_the_door = [&start] { start.live.at_the_door(); };
  if (world.first()) world.deadlines.absent = words_about_absent(world.identity, start.options);
  share_cpu_device(world.identity);
  socket_interfaces();  // throws where NCCL_SOCKET_IFNAME matches nothing, before a device is
                        // touched
  choose_device(world.identity);
  world.deadlines.facts = start.facts;
  add_common_facts(world.identity, world.deadlines.facts);
  world.control = ControlChannel::join(world.identity, world.deadlines);
  const PeersCounted peers(start.live, [&control = *world.control, others = world.ranks() - 1] {
    return others - (control.lost() ? 1 : 0);
  });
  int code = 0;
  try {
    code = start.work(world);
  } catch (...) {
    world.leave_for_this_exception();
    throw;
  }
  world.control->leave(ExitCode::done, "");
  return code;
}

// Where a node has one rank it is this process itself, else this becomes their launcher.
int run_as_node(Start& start, const NodeIdentity& node) {
  start.serve();
  const Deadline deadline = after(milliseconds(start.options.discovery.timeout));
  const Topology topology = find_topology(node, start.options);
  const bool several_here = topology.local_ranks > 1;
  // A node that counted itself alone still listens: for the one that comes later.
  const bool alone = topology.nodes() == 1 && !topology.counted;
  if (alone && !several_here) return run_alone(start);
  if (several_here) start.server.reset();  // the port is the first rank's now
  LaunchOptions here{.ranks = topology.local_ranks, .command = start.command_line};
  if (alone) return launch(here);

  const std::chrono::duration<double> left = deadline - std::chrono::steady_clock::now();
  const double seconds_to_meet =
      start.options.rendezvous_timeout.value_or(std::max(1.0, std::ceil(left.count())));
  if (!several_here) return run_as_rank(start, become_rank(node, topology), seconds_to_meet);
  here.place = launch_place(topology, seconds_to_meet);
  return launch(here);
}

}  // namespace

int device_count_of_a_child() {
  const pid_t child = fork();
  if (child == 0) {
    int devices = 0;
    const bool counted = cudaGetDeviceCount(&devices) == cudaSuccess;
    _exit(counted && devices < 255 ? devices : 255);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int devices = child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return devices > 0 && devices < 255 ? devices : device_count();
}

namespace {

// Once for all ranks; the ranks of Annulus's own launcher have been told of already.
void tell_who_started(const Identity& identity) {
  if (identity.source == "annulus launcher") return;
  const bool known = !identity.rendezvous_host.empty();
  note(fmt::format(
      "annulus: rank 0 of {} ({}), {} on this host{}\n", identity.world, identity.source,
      identity.local_world,
      known ? fmt::format(", listens at {}:{}", identity.rendezvous_host, identity.rendezvous_port)
            : ""));
}

}  // namespace

int run_as_ranks(const RankOptions& options, const std::vector<std::string>& command_line,
                 std::vector<Fact> facts, const std::function<int(World&)>& work) {
  Start start{options, command_line, std::move(facts), work};
  const Place place = detect_place(options.identity, surroundings(options));
  if (const auto* evaluator = std::get_if<EvaluatorTask>(&place)) {
    note(
        fmt::format("annulus: {} makes this an evaluator, which Annulus does not need: all ranks "
                    "evaluate; done\n",
                    evaluator->source));
    return 0;
  }
  if (const auto* node = std::get_if<NodeIdentity>(&place)) return run_as_node(start, *node);
  const Identity& identity = std::get<Identity>(place);
  if (!identity.note.empty()) note(fmt::format("annulus: {}\n", identity.note));
  if (identity.alone()) return run_alone(start);
  if (identity.rank == 0) tell_who_started(identity);
  return run_as_rank(start, identity, options.rendezvous_timeout.value_or(60));
}

}  // namespace annulus
