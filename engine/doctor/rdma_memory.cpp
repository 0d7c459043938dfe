// What RDMA needs of the host's memory: a limit that lets its buffers be locked, and a way from the
// adapter to a GPU's memory.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "engine/doctor/bytes.h"
#include "engine/doctor/checks.h"

namespace annulus::doctor {
namespace {

constexpr std::uint64_t kEnoughLockedMemory = std::uint64_t{64} << 20;

Finding locked_memory(const RdmaMemoryFacts& facts) {
  Finding finding{.name = "locked memory", .fact = "no limit"};
  if (!facts.lockable) return finding;
  finding.fact = fmt::format("at most {} (RLIMIT_MEMLOCK)", in_words(*facts.lockable));
  if (*facts.lockable >= kEnoughLockedMemory) return finding;
  finding.state = State::warning;
  finding.fact += ", too little to register InfiniBand's buffers ('cannot allocate memory')";
  finding.fix = "give the container the capability IPC_LOCK, or raise ulimit -l to unlimited";
  return finding;
}

Finding gpu_direct(const RdmaMemoryFacts& facts) {
  Finding finding{.name = "GPUDirect RDMA"};
  if (!facts.on_gpus) {
    finding.state = State::note;
    finding.fact = "no GPU here to read from";
  } else if (facts.peer_memory_module) {
    finding.fact = "through nvidia_peermem";
  } else if (facts.dma_buf) {
    finding.fact = "the kernel offers dma-buf (the GPU's driver must be the open one)";
  } else {
    finding.state = State::warning;
    finding.fact = "neither nvidia_peermem nor dma-buf: data goes through host memory";
    finding.fix = "modprobe nvidia_peermem on the host";
  }
  return finding;
}

std::optional<std::uint64_t> lockable_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

// The module's own name, then those of its predecessor.
bool peer_memory_module() {
  std::error_code unreadable;
  return std::ranges::any_of(
      std::initializer_list<const char*>{"/sys/module/nvidia_peermem",
                                         "/sys/kernel/mm/memory_peers/nv_mem",
                                         "/sys/kernel/mm/memory_peers/nv_mem_nc"},
      [&](const char* path) { return std::filesystem::exists(path, unreadable); });
}

}  // namespace

RdmaMemoryFacts read_rdma_memory(const std::vector<InfinibandDevice>& devices, bool on_gpus) {
  return {.lockable = lockable_memory(),
          .peer_memory_module = peer_memory_module(),
          .dma_buf = std::ranges::any_of(devices, &InfinibandDevice::dma_buf),
          .on_gpus = on_gpus};
}

std::vector<Finding> check_rdma_memory(const RdmaMemoryFacts& facts) {
  return {locked_memory(facts), gpu_direct(facts)};
}

}  // namespace annulus::doctor
