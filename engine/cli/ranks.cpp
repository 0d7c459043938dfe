// See ranks.h.
#include "engine/cli/ranks.h"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nccl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "comm/interfaces.h"
#include "comm/launcher.h"
#include "comm/mpi_bootstrap.h"
#include "engine/build_info.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

// Also where wrong settings of the CPU device show: it reads them at the first call.
int device_count() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaErrorInvalidValue)
    throw UserError(ExitCode::usage,
                    "a setting of the CPU device is not valid; its own line above names it");
  if (status == cudaErrorNoDevice || (status == cudaSuccess && devices == 0))
    throw UserError(ExitCode::device,
                    "no device is visible: look at CUDA_VISIBLE_DEVICES and ANNULUS_CPU_DEVICES, "
                    "and at annulus doctor");
  CUDA_CHECK(status);
  return devices;
}

int wanted_ranks(const std::string& ranks) {
  return ranks == "auto" ? device_count() : std::stoi(ranks);
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

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
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

}  // namespace

int run_as_ranks(const RankOptions& options, const std::vector<std::string>& command_line,
                 std::vector<Fact> facts, const std::function<int(World&)>& work) {
  const Environment environment = [](const char* name) { return std::getenv(name); };
  World world{.identity = std::get<Identity>(detect_place(
                  options.identity, {.environment = environment, .hostname = host_name()})),
              .deadlines = {},
              .control = nullptr};
  Identity& identity = world.identity;
  if (identity.alone()) {
    const int ranks = wanted_ranks(options.ranks);
    if (ranks > 1) return launch({.ranks = ranks, .command = command_line});
    device_count();
    return work(world);
  }

  world.deadlines = {.listener = needs_mpi_rendezvous(identity) ? mpi_rendezvous(identity)
                                                                : inherited_listener(environment),
                     .job = identity.job,
                     .facts = {},
                     .rendezvous_timeout = milliseconds(options.rendezvous_timeout),
                     .peer_timeout = milliseconds(options.peer_timeout)};
  world.deadlines.host = identity.rendezvous_host;
  world.deadlines.port = identity.rendezvous_port;
  share_cpu_device(identity);
  socket_interfaces();  // throws where NCCL_SOCKET_IFNAME matches nothing, before a device is
                        // touched
  choose_device(identity);
  add_common_facts(identity, facts);
  world.deadlines.facts = std::move(facts);
  world.control = ControlChannel::join(identity, world.deadlines);
  int code = 0;
  try {
    code = work(world);
  } catch (...) {
    world.leave_for_this_exception();
    throw;
  }
  world.control->leave(ExitCode::done, "");
  return code;
}

}  // namespace annulus
